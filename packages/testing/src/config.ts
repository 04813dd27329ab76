import { renamedTools } from './generation.ts'

/** Settings that your test can add to `opencode.json`, besides the scripted model. */
export interface OpencodeConfig {
  /** Per tool, or per tool and pattern. The last matching rule wins. */
  readonly permission?: Readonly<Record<string, Rule | Readonly<Record<string, Rule>>>>
  /** The setting `agent`, by the agent's name. */
  readonly agent?: Readonly<Record<string, unknown>>
  /** Slash commands by name, without the slash. `template` is the prompt. */
  readonly command?: Readonly<Record<string, Command>>
  /** Written only for servers from 1.18: older ones refuse the whole file. */
  readonly subagentDepth?: number
  /** The model's context window in tokens. Default 200,000. */
  readonly contextLimit?: number
  /** The model's output limit in tokens. Default 8,000. */
  readonly outputLimit?: number
  /** MCP servers by name, each as the command line of a program in the project. */
  readonly mcp?: Readonly<Record<string, readonly string[]>>
  /** Any other settings, unchanged. */
  readonly extra?: Readonly<Record<string, unknown>>
}

interface Command {
  readonly template: string
  readonly description?: string
  readonly agent?: string
  readonly subtask?: boolean
}

type Rule = 'allow' | 'ask' | 'deny'

/** Returns the first three numbers of a version, between "." or "-". NaN for a part that isn't a number. */
const numbersOf = (version: string): readonly number[] => version.split(/[.-]/).slice(0, 3).map(Number)

/** Whether a server's version is at least another, by their first three numbers. A missing number counts as 0. */
export const atLeast = (version: string, wanted: string): boolean => {
  const have = numbersOf(version)
  const want = numbersOf(wanted)
  const at = want.findIndex((number, index) => number !== (have[index] ?? 0))
  return at === -1 || (have[at] ?? 0) > (want[at] ?? 0)
}

/**
 * Returns the `opencode.json` of an OpenCode 2 server, which reads it from its home, with the model at `modelUrl`. The
 * settings in `extra` win.
 */
export const secondConfigFor = (modelUrl: string, config: OpencodeConfig = {}): string => {
  const model = {
    name: 'M1',
    limit: { context: config.contextLimit ?? 200_000, output: config.outputLimit ?? 8000 },
    cost: { input: 1, output: 2 },
    capabilities: { tools: true, input: ['text', 'image'], output: ['text'] },
  }
  const provider = {
    name: 'Fake',
    package: '@opencode-ai/ai/providers/openai-compatible',
    settings: { baseURL: modelUrl, apiKey: 'x' },
    models: { m1: model },
  }
  const file = {
    autoupdate: false,
    share: 'disabled',
    model: 'fake/m1',
    providers: { fake: provider },
    permissions: secondPermissions(config.permission),
    commands: config.command,
    agents: secondAgents(config.agent),
    mcp: config.mcp && { servers: mcpServers(config.mcp, { codemode: false }) },
    experimental: { subagent_depth: config.subagentDepth },
    ...config.extra,
  }
  return `${JSON.stringify(file, undefined, 2)}\n`
}

/**
 * Returns the settings of MCP servers, with `more` in each. Without `codemode: false`, the tools of version 2 are
 * functions of one tool that runs code.
 */
const mcpServers = (servers: NonNullable<OpencodeConfig['mcp']>, more: object = {}): object =>
  Object.fromEntries(Object.entries(servers).map(([name, command]) => [name, { type: 'local', command, ...more }]))

/** Returns agents with their permissions in the form of version 2. Undefined if there are none. */
const secondAgents = (agents: OpencodeConfig['agent']): object | undefined =>
  agents &&
  Object.fromEntries(
    Object.entries(agents).map(([name, agent]) => {
      const { permission, ...rest } = agent as { permission?: OpencodeConfig['permission'] }
      return [name, { ...rest, permissions: secondPermissions(permission) }]
    }),
  )

/**
 * Returns permissions as version 2 has them: a list of rules, one for each tool and pattern, with its names of tools.
 */
const secondPermissions = (permission: OpencodeConfig['permission'] = {}): readonly object[] =>
  Object.entries(permission).flatMap(([tool, rules]) => {
    const action = renamedTools[tool] ?? tool
    const each = typeof rules === 'string' ? { '*': rules } : rules
    return Object.entries(each).map(([resource, effect]) => ({ action, resource, effect }))
  })

/** Returns the `opencode.json` of an OpenCode 1 server with the model at `modelUrl`. The settings in `extra` win. */
export const configFor = (version: string, modelUrl: string, config: OpencodeConfig = {}): string => {
  const limit = { context: config.contextLimit ?? 200_000, output: config.outputLimit ?? 8000 }
  const model = { name: 'M1', limit, reasoning: true, tool_call: true, attachment: true }
  const provider = {
    npm: '@ai-sdk/openai-compatible',
    name: 'Fake',
    options: { baseURL: modelUrl, apiKey: 'x' },
    models: { m1: model },
  }
  const { permission, agent, command, subagentDepth } = config
  const file = {
    autoupdate: false,
    share: 'disabled',
    model: 'fake/m1',
    small_model: 'fake/m1',
    provider: { fake: provider },
    permission,
    agent,
    command,
    mcp: config.mcp && mcpServers(config.mcp),
    subagent_depth: atLeast(version, '1.18.0') ? subagentDepth : undefined,
    ...config.extra,
  }
  return `${JSON.stringify(file, undefined, 2)}\n`
}
