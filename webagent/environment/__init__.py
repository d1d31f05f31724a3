"""The world an agent acts in: BrowserGym tasks in a real headless browser."""
