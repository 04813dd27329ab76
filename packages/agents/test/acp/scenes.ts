import type { Ask } from '@reply/core'
import type { AcpClient } from '../../src/acp.ts'

/** What a person does while OpenCode plays a scenario of the scripted model. */
export interface Scene {
  /** Also the recording's name. */
  readonly name: string
  /** The scenario of `@reply/testing`. */
  readonly scenario: string
  /** Default: a prompt that plays the scenario. */
  readonly text?: string
  /** Whether it needs OpenCode's own server beside ACP: then it can't be replayed. */
  readonly preset?: true
  /** Sends this prompt first, and waits for its end. */
  readonly before?: string
  readonly onAsk?: (client: AcpClient, ask: Ask) => Promise<void>
  /** The session's mode. Default: the agent's own. */
  readonly agent?: string
  /** Aborts the run once its text is this long. */
  readonly abortAt?: number
}

const allow = async (client: AcpClient, ask: Ask): Promise<void> => await client.answer(ask, 'once')

const reject = async (client: AcpClient, ask: Ask): Promise<void> => await client.reject(ask)

/** What a person does while Gemini CLI plays its scripts. */
export const geminiScenes: readonly Scene[] = [
  { name: 'text', scenario: 'text' },
  { name: 'tool', scenario: 'tool' },
  { name: 'error', scenario: 'error' },
  { name: 'permission-allowed', scenario: 'permission-allowed', onAsk: allow },
  { name: 'permission-rejected', scenario: 'permission-rejected', onAsk: reject },
  { name: 'abort', scenario: 'abort', abortAt: 40 },
]

const inClaude: readonly Scene[] = [
  { name: 'text', scenario: 'text' },
  { name: 'tool', scenario: 'tool' },
  { name: 'permission-allowed', scenario: 'permission', onAsk: allow },
  { name: 'permission-rejected', scenario: 'permission', onAsk: reject },
  {
    name: 'question',
    scenario: 'question',
    onAsk: async (client, ask) => await client.answer(ask, [['Blue']]),
  },
  { name: 'todos', scenario: 'todos' },
  { name: 'abort', scenario: 'abort', abortAt: 40 },
  { name: 'error', scenario: 'error' },
  { name: 'picture', scenario: 'picture', onAsk: allow },
]

/** What a person does while claude-agent-acp plays its scripts. Its own mode lets Claude decide what needs a person. */
export const claudeScenes = inClaude.map((scene): Scene => ({ ...scene, agent: 'default' }))

const inCodex: readonly Scene[] = [
  { name: 'text', scenario: 'text' },
  { name: 'tool', scenario: 'tool' },
  { name: 'permission-allowed', scenario: 'permission', onAsk: allow },
  { name: 'permission-rejected', scenario: 'permission', onAsk: reject },
  {
    name: 'question',
    scenario: 'question',
    onAsk: async (client, ask) => await client.answer(ask, [['Blue']]),
  },
  { name: 'todos', scenario: 'todos' },
  // Before the answer there is a warning about the model.
  { name: 'abort', scenario: 'abort', abortAt: 170 },
  { name: 'error', scenario: 'error' },
  { name: 'picture', scenario: 'picture', onAsk: allow },
]

/** What a person does while codex-acp plays its scripts. Its own mode lets a second model decide what needs a person. */
export const codexScenes = inCodex.map((scene): Scene => ({ ...scene, agent: 'read-only' }))

/** What a person does while OpenCode plays its scenarios. */
export const scenes: readonly Scene[] = [
  { name: 'text', scenario: 'plain' },
  { name: 'tools', scenario: 'tools-todos' },
  { name: 'permission-allowed', scenario: 'permission-once', onAsk: allow },
  {
    name: 'permission-rejected',
    scenario: 'permission-rejected',
    onAsk: reject,
  },
  { name: 'permission-edit', scenario: 'permission-edit', onAsk: allow },
  { name: 'abort', scenario: 'abort-text', abortAt: 40 },
  { name: 'abort-permission', scenario: 'abort-permission', abortAt: 1 },
  { name: 'subagent', scenario: 'subagent' },
  { name: 'error', scenario: 'unauthorized' },
  { name: 'cut', scenario: 'retry-cut' },
  { name: 'length', scenario: 'finish-length' },
  { name: 'picture', scenario: 'read-picture' },
  { name: 'mcp-files', scenario: 'mcp-files' },
  { name: 'compaction', scenario: 'plain', before: 'plain', text: '/compact' },
  {
    name: 'question',
    scenario: 'question',
    preset: true,
    onAsk: async (client, ask) => await client.answer(ask, [['Blue']]),
  },
  { name: 'subagent-permission', scenario: 'subagent-permission', preset: true, onAsk: allow },
]
