import type { Input } from './said.ts'

/** Claude Code's tools, and what OpenCode calls them: views know those. */
const names: Readonly<Record<string, string>> = {
  Bash: 'bash',
  Read: 'read',
  Write: 'write',
  Edit: 'edit',
  MultiEdit: 'multiedit',
  Glob: 'glob',
  Grep: 'grep',
  WebFetch: 'webfetch',
  WebSearch: 'websearch',
  TodoWrite: 'todowrite',
  // The checklist of later versions.
  TaskCreate: 'todowrite',
  TaskUpdate: 'todowrite',
  TaskList: 'todoread',
  TaskGet: 'todoread',
  AskUserQuestion: 'question',
  Agent: 'task',
  Task: 'task',
}

const fields: Readonly<Record<string, string>> = {
  file_path: 'filePath',
  old_string: 'oldString',
  new_string: 'newString',
  replace_all: 'replaceAll',
}

/** The name that replies use. A tool that is not listed keeps its own. */
export function toolName(tool: string): string {
  return names[tool] ?? tool
}

/** The input with the names of fields that replies use. No value changes. */
export function toolInput(tool: string, input: Input): Input {
  if (!(tool in names)) return input
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [fields[name] ?? name, value]))
}
