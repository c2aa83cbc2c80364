"""Tests of the dashboard's pages in Chromium."""
