"""Ready-made requests that a person can pick in their client."""

from mcp.server import MCPServer


def add_prompts(server: MCPServer) -> None:
    @server.prompt(title="Plan my week")
    def plan_my_week(goals: str = "") -> str:  # pyright: ignore[reportUnusedFunction]
        """Turn goals into reminders and prompts for the coming week."""
        about = f"What I want from this week: {goals}\n\n" if goals.strip() else ""
        return (
            f"{about}Help me plan the coming week with Cronty. First call get_current_time, then schedule_list and "
            "list_jobs to see what is planned already. Propose a short list of reminders and recurring prompts, "
            "each with the exact words for its time; check each with preview_schedule. Ask me once whether to go "
            "ahead, then make them and read back when each one fires first."
        )

    @server.prompt(title="Why did it not run?")
    def why_did_it_not_run(job: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Find out what happened to a job's planned runs."""
        return (
            f'Something I scheduled did not happen as I expected: "{job}". Find the job with list_jobs (by id, or by '
            "a part of its name), then look at job_status and list_runs. Every planned moment has a verdict and a "
            "reason: tell me in two sentences what happened and why, and offer the one change that would prevent it."
        )
