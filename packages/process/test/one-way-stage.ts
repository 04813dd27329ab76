import type { Source } from '@reply/core/source'
import type { SourceStage } from '@reply/core/testing'
import {
  agentBinary,
  failure,
  hold,
  type Model,
  type Piece,
  prepareOpencode,
  type Scripts,
  startModel,
  text,
  tool,
} from '@reply/testing'
import { codexExec, geminiPrompt, type OneWayOptions, opencodeRun } from '../src/index.ts'
import { codexEnv, codexFiles, startScripted } from './scripted-stage.ts'

/** A one-way program that can be started, with a scripted model, in a home and a folder of its own. */
export interface PreparedOneWay {
  readonly command: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly model: Model
  readonly home: string
  readonly directory: string
  close(): Promise<void>
}

interface OneWayAgent {
  readonly source: (options: OneWayOptions) => Source
  readonly prepare: () => Promise<PreparedOneWay>
}

/** `call` says it in the words of the agent's tools. */
const scriptsWith = (call: Piece): Scripts => ({
  plain: { steps: [[text('Hello there, nice to meet you.')]] },
  // OpenCode says a text when it is complete.
  endless: {
    steps: [
      [text('I begin.'), call],
      [hold('forever'), text('never')],
    ],
  },
  tool: { steps: [[text('I run it.'), call], [text('It is made.')]] },
  error: { steps: [[failure(400, 'The scripted provider refuses this.')]] },
})

const says = { command: 'echo made', description: 'Says it' }

/** An API key for login, and no questions before the first prompt. */
const geminiFiles = () => ({
  '.gemini/settings.json': JSON.stringify({
    security: { auth: { selectedType: 'gemini-api-key' } },
    general: { disableAutoUpdate: true },
    privacy: { usageStatisticsEnabled: false },
  }),
})

export const oneWayAgents: Readonly<Record<'codex' | 'gemini' | 'opencode', OneWayAgent>> = {
  codex: {
    source: codexExec,
    prepare: async () => {
      const command = await agentBinary('codex')
      const stage = await startScripted(scriptsWith(tool('exec_command', { cmd: 'echo made' })), codexFiles)
      return { ...stage, command, env: codexEnv(stage) }
    },
  },
  gemini: {
    source: geminiPrompt,
    prepare: async () => {
      const command = await agentBinary('gemini')
      const stage = await startScripted(scriptsWith(tool('run_shell_command', says)), geminiFiles)
      const { home, model } = stage
      const env = { HOME: home, GEMINI_API_KEY: 'scripted-key', GOOGLE_GEMINI_BASE_URL: model.origin }
      // It works in folders alone that were trusted.
      return { ...stage, command, env: { ...env, GEMINI_CLI_TRUST_WORKSPACE: 'true' } }
    },
  },
  opencode: {
    source: opencodeRun,
    prepare: async () => {
      const model = await startModel({ scripts: scriptsWith(tool('bash', says)), fallback: 'plain' })
      const prepared = await prepareOpencode({ model })
      return {
        ...prepared,
        model,
        home: `${prepared.root}/home`,
        close: async () => {
          await model.close()
          await prepared.remove()
        },
      }
    },
  },
}

export async function startOneWayStage(name: keyof typeof oneWayAgents): Promise<SourceStage> {
  const { source: sourceOf, prepare } = oneWayAgents[name]
  const { command, env, directory, close } = await prepare()
  const source = sourceOf({ command, env, cwd: directory })
  return {
    source,
    unreachable: sourceOf({ command: 'no-such-program', env }),
    directory,
    secrets: ['scripted-key'],
    prompts: {
      plain: { text: '[scenario:plain] Go.', answer: 'Hello there, nice to meet you.' },
      endless: '[scenario:endless] Go.',
    },
    close: async () => {
      source.close()
      await close()
    },
  }
}
