"""What task data leave open or have wrong, found and audited by the matchers themselves."""
