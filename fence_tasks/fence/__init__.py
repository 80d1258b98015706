"""What a patch may not do: paths, frozen cases, and the judge over both. Pure."""
