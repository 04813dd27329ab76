import { join } from 'node:path'
import { callTool } from '@reply/testing'
import { claude } from '../../src/claude.ts'
import { codex } from '../../src/codex.ts'
import { askingArgs } from '../codex/codex-stage.ts'
import { claudeEnv, codexEnv, codexFiles } from '../scripted-stage.ts'
import { agentOf, forms } from './agent.ts'
import type { Tools } from './scripts.ts'

const choices = [
  { label: 'Red', description: 'Warm' },
  { label: 'Blue', description: 'Cold' },
]

/** The question of Claude Code's tool, which other agents have taken over. */
export const color = { question: 'Which color?', header: 'Color', options: choices }

const claudeDelegate = (prompt: string, inBackground: boolean) =>
  callTool('Agent', {
    description: 'Look around',
    prompt,
    subagent_type: 'general-purpose',
    run_in_background: inBackground,
  })

const task = (subject: string) =>
  callTool('TaskCreate', { subject, description: `${subject} all of it`, activeForm: `${subject}ing` })

const change = (taskId: string, status: string) => callTool('TaskUpdate', { taskId, status })

/** The tools of Claude Code. */
export const claudeTools = (directory: string): Tools => ({
  run: (command) => callTool('Bash', { command, description: 'Makes a file' }),
  look: callTool('Bash', { command: 'ls', description: 'Lists' }),
  question: callTool('AskUserQuestion', { questions: [{ ...color, multiSelect: false }] }),
  todos: [
    [task('Read'), task('Write')],
    [change('1', 'completed'), change('2', 'in_progress')],
  ],
  delegate: (prompt) => [[claudeDelegate(prompt, false)]],
  delegateInBackground: (prompt) => claudeDelegate(prompt, true),
  background: (command) => callTool('Bash', { command, description: 'Waits', run_in_background: true }),
  readImage: callTool('Read', { file_path: join(directory, 'dot.png') }),
  form: callTool('mcp__forms__ask', {}),
})

/** The settings for MCP servers that several agents share. */
export const mcpSettings = JSON.stringify({ mcpServers: { forms: { command: forms.command, args: forms.args } } })

export const claudeAgent = agentOf({
  name: 'Claude Code',
  program: 'claude',
  tools: claudeTools,
  files: () => ({ 'mcp.json': mcpSettings }),
  source: ({ command }, stage) =>
    claude({
      command,
      args: ['--mcp-config', join(stage.home, 'mcp.json')],
      cwd: stage.directory,
      // By default it tries a refused key for three minutes.
      env: { ...claudeEnv(stage), CLAUDE_CODE_MAX_RETRIES: '2' },
    }),
  command: 'compact',
  otherModel: { providerID: 'anthropic', modelID: 'claude-haiku-4-5' },
  hasCost: true,
  compacts: '/compact',
})

const exec = (cmd: string) => callTool('exec_command', { cmd })

const plan = (first: string, second: string) =>
  callTool('update_plan', {
    plan: [
      { step: 'Read', status: first },
      { step: 'Write', status: second },
    ],
  })

/** The tools of Codex. */
export const codexTools = (directory: string): Tools => ({
  run: (cmd) =>
    callTool('exec_command', {
      cmd,
      sandbox_permissions: 'require_escalated',
      justification: 'May I make a file?',
    }),
  look: exec('ls'),
  question: callTool('request_user_input', { questions: [{ id: 'color', ...color }] }),
  todos: [[plan('in_progress', 'pending')], [plan('completed', 'in_progress')]],
  touch: (file) => exec(`touch ${file}`),
  // A model waits for its sub-agent by an id that a script can't know.
  delegate: (message, done) => [
    [callTool('multi_agent_v1.spawn_agent', { message })],
    [exec(`until test -f ${done}; do sleep 0.1; done; sleep 1`)],
  ],
  delegateInBackground: (message) => callTool('multi_agent_v1.spawn_agent', { message }),
  readImage: callTool('view_image', { path: join(directory, 'dot.png') }),
  form: callTool('mcp__forms.ask', {}),
  // Codex does not try again after 429 and 529.
  busyStatus: 503,
})

/** Codex's settings: a model that it tries twice, its tools for plans and questions, and the MCP server `forms`. */
export const codexConfig = (model: Parameters<typeof codexFiles>[0], head: readonly string[] = []): string =>
  [
    ...head,
    codexFiles(model)['.codex/config.toml'],
    ...['request_max_retries = 2', 'stream_max_retries = 2'],
    ...['[tools.update_plan]', 'enabled = true', '[features]', 'default_mode_request_user_input = true'],
    ...[
      '[mcp_servers.forms]',
      `command = ${JSON.stringify(forms.command)}`,
      `args = ${JSON.stringify(forms.args)}`,
      'required = true',
    ],
  ].join('\n')

const noWake = 'it starts no turn by itself'

/** What Codex lacks. */
export const codexLacks = {
  'permission of a sub-agent in the background': noWake,
  'command in the background': noWake,
  'prompt sent meanwhile': noWake,
} as const

export const codexAgent = agentOf({
  name: 'Codex',
  program: 'codex',
  tools: codexTools,
  files: (model) => ({ '.codex/config.toml': codexConfig(model) }),
  source: ({ command }, stage) =>
    codex({
      command,
      args: [...askingArgs],
      cwd: stage.directory,
      env: codexEnv(stage),
      approvalPolicy: 'on-request',
      sandbox: 'workspace-write',
    }),
  lacks: codexLacks,
  otherModel: { providerID: 'openai', modelID: 'another' },
  hasCost: false,
})
