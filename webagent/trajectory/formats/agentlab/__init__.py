"""Result directories of AgentLab and BrowserGym, in either loop's dialect."""
