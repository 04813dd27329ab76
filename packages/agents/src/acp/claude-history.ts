/** The name of Claude's agent. It repeats the past of a session unlike the others. */
const claudeAgent = '@agentclientprotocol/claude-agent-acp'

/**
 * Whether the agent drops a text whose stream was cut off, so that a session which ends with a text ended regularly. Only
 * Claude's does. The agents of Codex and Qwen repeat such a text like any other (codex-acp 2.6, qwen-code 0.24).
 */
export function dropsCutTexts(agent: string | undefined): boolean {
  return agent === claudeAgent
}

/**
 * Whether a prompt of the past is Claude Code's note that its run was stopped. It also writes one when the program that
 * started it was killed, and the agent repeats it like a prompt (0.92 and 0.101).
 */
export function isInterruptionNote(text: string, agent: string | undefined): boolean {
  return agent === claudeAgent && text.startsWith('[Request interrupted by user')
}
