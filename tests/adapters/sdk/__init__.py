"""Puts Recollect in the place of the SDKs' own parts in their own tests: see scripts/sdk-tests."""
