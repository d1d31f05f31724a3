import os, difflib
import pytest
from tests.judging import test_blinding_urls as t
from tests.judging.test_blinding_urls import world
pytestmark = pytest.mark.django_db
def test_x(world):
    v=os.environ.get("V","annotator")
    pass
    a=t.answers(world,v)
    print(len(a)); print(t.words_in(a,v)[:60])
    t.remove_guards(); t.turn_round(world, turns_disputed=v!="engineer"); b=t.answers(world,v)
    n=0
    for k in a:
        if a[k]!=b[k]:
            n+=1
            if n<12:
                print("==",k)
                for l in list(difflib.unified_diff(a[k].decode("utf8","replace").splitlines(),b[k].decode("utf8","replace").splitlines(),n=0,lineterm=""))[:8]: print(l[:400])
    print(n)
