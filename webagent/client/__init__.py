"""Client of the API of Crosscheck: a folder that needs nothing but Python itself.

Copy it beside your agent under any name, or import it from here:

    client = Client("https://crosscheck.example", token)
    env = Recorder(gym.make("browsergym/miniwob.click-test"), client, agent={"name": "mine"})

From then on every episode of `env` is a run that can be watched while it happens. The agent waits
for nothing: steps go to a folder on the disk first and from there to the server, in threads of
their own. What could not be sent stays in the folder:
`python -m webagent.client resend FOLDER` sends it later.
"""

from .api import ApiError, Client, UnreachableError
from .push import Push
from .recorder import Recorder
from .spool import resend

__all__ = ["ApiError", "Client", "Push", "Recorder", "UnreachableError", "resend"]
