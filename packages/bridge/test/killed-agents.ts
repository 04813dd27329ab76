import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type AnswerPiece, callTool, opencodeBinary, type ScriptedModel } from '@reply/testing'
import { type AgentName, agentBinary } from '@reply/testing/internal'

/** An agent that a bridge starts, with a scripted model. */
export interface KilledAgent {
  readonly versions: readonly (string | undefined)[]
  /** Looks around, which needs no permission. */
  readonly look: AnswerPiece
  /** Whether another process of it finds the sessions of one that was killed. */
  readonly keepsSessions: boolean
  /** Returns the command line of the bridge's config. Puts programs that are found by their name into `bin`. */
  readonly commandLine: (bin: string, version: string | undefined) => Promise<string>
  /** Writes the agent's settings into its home, and returns its environment besides `HOME`. */
  readonly prepare: (home: string, model: ScriptedModel) => Readonly<Record<string, string>>
}

const ls = callTool('Bash', { command: 'ls', description: 'Lists files' })
const exec = callTool('exec_command', { cmd: 'ls' })

/** The command line of an agent that Node.js 22 or newer runs. */
const underNode =
  (name: AgentName, ...args: readonly string[]) =>
  async (_: string, version: string | undefined): Promise<string> =>
    [await agentBinary('node'), await agentBinary(name, version), ...args].map((word) => JSON.stringify(word)).join(' ')

/** A preset of `@reply/agents`, whose program is found by its name. */
const preset =
  (name: 'claude' | 'codex') =>
  async (bin: string, version: string | undefined): Promise<string> => {
    symlinkSync(await agentBinary(name, version), join(bin, name))
    return name
  }

function writeIn(home: string, path: string, text: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true })
  writeFileSync(join(home, path), text)
}

const claudeEnv = ({ origin }: ScriptedModel) => ({
  ANTHROPIC_BASE_URL: origin,
  ANTHROPIC_API_KEY: 'scripted-key',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
})

function codexEnv(home: string, { url }: ScriptedModel) {
  const provider = ['name = "Scripted"', `base_url = "${url}"`, 'wire_api = "responses"', 'env_key = "SCRIPTED_KEY"']
  const head = ['model = "scripted"', 'model_provider = "scripted"', '[model_providers.scripted]']
  writeIn(home, '.codex/config.toml', [...head, ...provider].join('\n'))
  return { CODEX_HOME: join(home, '.codex'), SCRIPTED_KEY: 'scripted-key' }
}

/** By their names in the table of agents. */
export const killedAgents: Readonly<Record<string, KilledAgent>> = {
  'Claude Code': {
    versions: ['2.1.197', '2.1.332'],
    look: ls,
    keepsSessions: true,
    commandLine: preset('claude'),
    prepare: (_, model) => claudeEnv(model),
  },
  Codex: {
    versions: ['0.150.0', '0.169.0'],
    look: exec,
    keepsSessions: true,
    commandLine: preset('codex'),
    prepare: codexEnv,
  },
  'claude-agent-acp': {
    versions: ['0.92.0', '0.101.0'],
    look: ls,
    keepsSessions: true,
    commandLine: underNode('claude-acp'),
    prepare: (home, model) => {
      // As root it starts only if settings forbid the mode that skips permissions.
      writeIn(home, '.claude/settings.json', '{ "permissions": { "disableBypassPermissionsMode": "disable" } }')
      return { ...claudeEnv(model), CLAUDE_CONFIG_DIR: join(home, '.claude') }
    },
  },
  'codex-acp': {
    versions: ['2.5.0', '2.6.0'],
    look: exec,
    keepsSessions: true,
    commandLine: underNode('codex-acp'),
    prepare: codexEnv,
  },
  'OpenCode through ACP': {
    versions: [undefined],
    look: callTool('bash', { command: 'ls', description: 'Lists files' }),
    keepsSessions: true,
    commandLine: async (bin, version) => {
      symlinkSync(await opencodeBinary(version === undefined ? {} : { version }), join(bin, 'opencode'))
      return 'opencode acp'
    },
    prepare: (home, { url }) => {
      const provider = { npm: '@ai-sdk/openai-compatible', name: 'Fake', options: { baseURL: url, apiKey: 'x' } }
      const m1 = { name: 'M1', limit: { context: 200_000, output: 8000 } }
      const config = { autoupdate: false, model: 'fake/m1', provider: { fake: { ...provider, models: { m1 } } } }
      writeIn(home, '.config/opencode/opencode.json', JSON.stringify(config))
      return {
        XDG_CONFIG_HOME: join(home, '.config'),
        XDG_DATA_HOME: join(home, '.local/share'),
        XDG_STATE_HOME: join(home, '.local/state'),
        XDG_CACHE_HOME: join(home, '.cache'),
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
      }
    },
  },
  'Qwen Code': {
    versions: ['0.24.4'],
    look: callTool('glob', { pattern: '*' }),
    keepsSessions: true,
    commandLine: underNode('qwen', '--acp', '--auth-type', 'openai'),
    prepare: (_, { url }) => ({
      OPENAI_API_KEY: 'scripted-key',
      OPENAI_BASE_URL: url,
      OPENAI_MODEL: 'scripted',
    }),
  },
  'Gemini CLI': {
    versions: ['0.61.0'],
    look: callTool('list_directory', { dir_path: '.' }),
    keepsSessions: false,
    commandLine: underNode('gemini', '--experimental-acp'),
    prepare: (home, { origin }) => {
      const settings = {
        security: { auth: { selectedType: 'gemini-api-key' } },
        general: { disableAutoUpdate: true },
        privacy: { usageStatisticsEnabled: false },
      }
      writeIn(home, '.gemini/settings.json', JSON.stringify(settings))
      return { GEMINI_API_KEY: 'scripted-key', GOOGLE_GEMINI_BASE_URL: origin }
    },
  },
}
