import { join } from 'node:path'
import { callTool, type ScriptedModel } from '@reply/testing'
import { acpSource } from '../../src/acp.ts'
import { claudeEnv, codexEnv, type ScriptedStage } from '../scripted-stage.ts'
import { agentOf, forms, type ProgramAgent } from './agent.ts'
import { claudeTools, codexConfig, codexLacks, codexTools, color } from './local-agents.ts'
import type { Tools } from './scripts.ts'

/** Returns an ACP agent with the MCP server `forms`. */
const acpAgent = ({
  args,
  env,
  ...agent
}: Omit<ProgramAgent, 'source'> & {
  readonly args: readonly string[]
  readonly env: (stage: ScriptedStage) => Readonly<Record<string, string>>
}) =>
  agentOf({
    ...agent,
    source: (program, stage) =>
      acpSource({
        command: program.command,
        args: [...program.args, ...args],
        name: agent.name,
        cwd: stage.directory,
        env: env(stage),
        mcpServers: [{ name: forms.name, command: forms.command, args: [...forms.args], env: [] }],
      }),
  })

const todo = (first: string, second: string) =>
  callTool('TodoWrite', {
    todos: [
      { content: 'Read', status: first, activeForm: 'Read' },
      { content: 'Write', status: second, activeForm: 'Write' },
    ],
  })

export const claudeAcpAgent = acpAgent({
  name: 'claude-agent-acp',
  program: 'claude-acp',
  needsNode: true,
  args: [],
  tools: (directory) => ({
    ...claudeTools(directory),
    todos: [[todo('in_progress', 'pending')], [todo('completed', 'in_progress')]],
  }),
  // As root it starts only if settings forbid the mode that skips permissions.
  files: () => ({ '.claude/settings.json': '{ "permissions": { "disableBypassPermissionsMode": "disable" } }' }),
  env: (stage) => ({
    ...claudeEnv(stage),
    CLAUDE_CODE_MAX_RETRIES: '2',
    CLAUDE_CONFIG_DIR: join(stage.home, '.claude'),
  }),
  // Its own mode lets Claude decide what needs a person.
  mode: 'default',
  otherModel: { providerID: 'claude-agent-acp', modelID: 'haiku' },
  hasCost: true,
  compacts: '/compact',
})

export const codexAcpAgent = acpAgent({
  name: 'codex-acp',
  program: 'codex-acp',
  needsNode: true,
  args: [],
  tools: codexTools,
  lacks: codexLacks,
  files: (model) => ({
    '.codex/config.toml': codexConfig(model, ['approval_policy = "on-request"', 'sandbox_mode = "workspace-write"']),
  }),
  env: codexEnv,
  // Its own mode lets a second model decide what needs a person.
  mode: 'read-only',
  hasCost: false,
  compacts: '/compact',
})

const geminiTools = (directory: string): Tools => ({
  run: (command) => callTool('run_shell_command', { command, description: 'Makes a file' }),
  look: callTool('list_directory', { dir_path: '.' }),
  readImage: callTool('read_file', { file_path: join(directory, 'dot.png') }),
  form: callTool('mcp_forms_ask', {}),
  busyStatus: 503,
})

export const geminiAgent = acpAgent({
  name: 'Gemini CLI',
  program: 'gemini',
  needsNode: true,
  args: ['--experimental-acp'],
  tools: geminiTools,
  files: () => ({
    '.gemini/settings.json': JSON.stringify({
      security: { auth: { selectedType: 'gemini-api-key' } },
      general: { disableAutoUpdate: true },
      privacy: { usageStatisticsEnabled: false },
    }),
  }),
  env: ({ home, model }) => ({ HOME: home, GEMINI_API_KEY: 'scripted-key', GOOGLE_GEMINI_BASE_URL: model.origin }),
  hasCost: false,
})

const qwenDelegate = (prompt: string, inBackground: boolean) =>
  callTool('agent', {
    description: 'Look around',
    prompt,
    subagent_type: 'general-purpose',
    run_in_background: inBackground,
  })

const qwenTools = (directory: string): Tools => ({
  run: (command) => callTool('run_shell_command', { command, is_background: false, description: 'Makes a file' }),
  look: callTool('glob', { pattern: '*' }),
  question: callTool('ask_user_question', { questions: [{ ...color, multiSelect: false }] }),
  todos: [
    [
      callTool('todo_write', {
        todos: [
          { id: '1', content: 'Read', status: 'completed' },
          { id: '2', content: 'Write', status: 'in_progress' },
        ],
      }),
    ],
  ],
  delegate: (prompt) => [[qwenDelegate(prompt, false)]],
  delegateInBackground: (prompt) => qwenDelegate(prompt, true),
  background: (command) => callTool('run_shell_command', { command, is_background: true, description: 'Waits' }),
  readImage: callTool('read_file', { file_path: join(directory, 'dot.png') }),
  form: callTool('mcp__forms__ask', {}),
})

/** Qwen Code's environment, … */
export const qwenEnv = ({ home, model }: ScriptedStage) => ({
  HOME: home,
  OPENAI_API_KEY: 'scripted-key',
  OPENAI_BASE_URL: model.url,
  // The name of a model that sees images.
  OPENAI_MODEL: 'gpt-4o',
})

export const qwenAgent = acpAgent({
  name: 'Qwen Code',
  program: 'qwen',
  needsNode: true,
  args: ['--acp', '--auth-type', 'openai'],
  tools: qwenTools,
  files: () => ({ '.qwen/settings.json': '{ "tools": { "todoWrite": { "enabled": true } } }' }),
  env: qwenEnv,
  // Its own mode lets the model decide what needs a person.
  mode: 'default',
  hasCost: false,
  compacts: '/compress',
})

const kimiDelegate = (prompt: string, inBackground: boolean) =>
  callTool('Agent', { description: 'Look around', prompt, subagent_type: 'coder', run_in_background: inBackground })

const kimiTools = (directory: string): Tools => ({
  run: (command) => callTool('Bash', { command, description: 'Makes a file' }),
  look: callTool('TaskList', {}),
  question: callTool('AskUserQuestion', { questions: [{ ...color, multi_select: false }] }),
  todos: [
    [
      callTool('TodoList', {
        todos: [
          { title: 'Read', status: 'done' },
          { title: 'Write', status: 'in_progress' },
        ],
      }),
    ],
  ],
  delegate: (prompt) => [[kimiDelegate(prompt, false)]],
  delegateInBackground: (prompt) => kimiDelegate(prompt, true),
  background: (command) => callTool('Bash', { command, description: 'Waits', run_in_background: true }),
  readImage: callTool('ReadMediaFile', { path: join(directory, 'dot.png') }),
  form: callTool('mcp__forms__ask', {}),
})

/** A model of Kimi's settings. */
const kimiModel = (name: string) =>
  `[models."fake/${name}"]\nprovider = "fake"\nmodel = "${name}"\nmax_context_size = 200000\ncapabilities = ["image_in", "tool_use"]`

/** … the settings of Kimi Code and its environment, … */
export const kimiFiles = ({ url }: ScriptedModel) => ({
  '.kimi-code/config.toml': [
    ...['default_model = "fake/m1"', 'telemetry = false', '[providers.fake]', 'type = "openai"'],
    ...[`base_url = "${url}"`, 'api_key = "scripted-key"', kimiModel('m1'), kimiModel('m2')],
    // By default it tries a cut answer for a minute.
    ...['[loop_control]', 'max_retries_per_step = 1', ''],
  ].join('\n'),
})

export const kimiEnv = ({ home }: ScriptedStage) => ({ HOME: home, KIMI_CODE_NO_AUTO_UPDATE: '1' })

export const kimiAgent = acpAgent({
  name: 'Kimi Code',
  program: 'kimi',
  needsNode: true,
  args: ['acp'],
  tools: kimiTools,
  files: kimiFiles,
  env: kimiEnv,
  otherModel: { providerID: 'fake', modelID: 'm2' },
  asksWithoutCall: true,
  hasCost: false,
  compacts: '/compact',
})

/** The tools of OpenCode, and of Kilo, which is made from it. */
export const openCodeTools = (directory: string): Tools => ({
  run: (command) => callTool('bash', { command, description: 'Makes a file' }),
  look: callTool('bash', { command: 'ls', description: 'Lists' }),
  question: callTool('question', { questions: [color] }),
  todos: [
    [
      callTool('todowrite', {
        todos: [
          { content: 'Read', status: 'completed', priority: 'high' },
          { content: 'Write', status: 'in_progress', priority: 'high' },
        ],
      }),
    ],
  ],
  delegate: (prompt) => [[callTool('task', { description: 'Look around', prompt, subagent_type: 'general' })]],
  readImage: callTool('read', { filePath: join(directory, 'dot.png') }),
  form: callTool('forms_ask', {}),
})

/** The rules of OpenCode and Kilo: only commands that make something ask. */
export const openCodePermission = { bash: { '*': 'allow', 'touch *': 'ask', 'mkdir *': 'ask' } } as const

const kiloModel = (name: string) => ({
  name,
  limit: { context: 200_000, output: 8000 },
  cost: { input: 1, output: 2 },
  tool_call: true,
  attachment: true,
  modalities: { input: ['text', 'image'], output: ['text'] },
})

/** … and those of Kilo. */
export const kiloFiles = ({ url }: ScriptedModel) => ({
  '.config/kilo/opencode.json': JSON.stringify({
    autoupdate: false,
    model: 'fake/m1',
    small_model: 'fake/m1',
    permission: openCodePermission,
    provider: {
      fake: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Fake',
        options: { baseURL: url, apiKey: 'scripted-key' },
        models: { m1: kiloModel('m1'), m2: kiloModel('m2') },
      },
    },
  }),
})

export const kiloEnv = ({ home }: ScriptedStage) => ({
  HOME: home,
  XDG_CONFIG_HOME: join(home, '.config'),
  XDG_DATA_HOME: join(home, '.local/share'),
  XDG_STATE_HOME: join(home, '.local/state'),
  XDG_CACHE_HOME: join(home, '.cache'),
})

export const kiloAgent = acpAgent({
  name: 'Kilo',
  program: 'kilo',
  args: ['acp'],
  tools: openCodeTools,
  files: kiloFiles,
  env: kiloEnv,
  otherModel: { providerID: 'fake', modelID: 'm2' },
  hasCost: true,
  compacts: '/compact',
})
