import type { Ask } from '@reply/core'
import type { AcpClient } from '../src/index.ts'

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
  /** Aborts the run once its text is this long. */
  readonly abortAt?: number
}

const allow = async (client: AcpClient, ask: Ask): Promise<void> => await client.answer(ask, 'once')

const reject = async (client: AcpClient, ask: Ask): Promise<void> => await client.reject(ask)

/** What a person does while Gemini CLI plays its scripts. */
export const geminiScenes: readonly Scene[] = [
  { name: 'text', scenario: 'text' },
  { name: 'permission-allowed', scenario: 'permission-allowed', onAsk: allow },
  { name: 'permission-rejected', scenario: 'permission-rejected', onAsk: reject },
  { name: 'abort', scenario: 'abort', abortAt: 40 },
]

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
  { name: 'compaction', scenario: 'plain', before: 'plain', text: '/compact' },
  {
    name: 'question',
    scenario: 'question',
    preset: true,
    onAsk: async (client, ask) => await client.answer(ask, [['Blue']]),
  },
  { name: 'subagent-permission', scenario: 'subagent-permission', preset: true, onAsk: allow },
]
