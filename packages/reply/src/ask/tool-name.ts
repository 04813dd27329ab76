/** Names of the same tool on different servers. All other rules only look at the call's content. */

/** Whether the tool runs a shell command: `bash` in OpenCode 1, `shell` in OpenCode 2. */
export function isShellTool(tool: string): boolean {
  return tool === 'bash' || tool === 'shell'
}

/** Whether the tool reads or writes the checklist. Show `reply.todos` instead of its calls. */
export function isTodoTool(tool: string): boolean {
  return isTodoWriter(tool) || tool === 'todoread'
}

/** Whether the tool writes the checklist. */
export function isTodoWriter(tool: string): boolean {
  return tool === 'todowrite'
}

/** Whether the tool starts a sub-agent: `task` in OpenCode 1, `subagent` in OpenCode 2. */
export function isSubagentTool(tool: string): boolean {
  return tool === 'task' || tool === 'subagent'
}
