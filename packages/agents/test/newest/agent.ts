import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Source } from '@reply/core/source'
import { connectSource } from '@reply/core/source'
import type { SourceStage } from '@reply/core/testing'
import type { ScriptedModel } from '@reply/testing'
import { type AgentName, agentBinary, newestAgent } from '@reply/testing/internal'
import { recorderOf } from '../recorder.ts'
import { type ScriptedStage, startScripted } from '../scripted-stage.ts'
import type { SceneAgent } from './scenes.ts'
import { scriptsFor, type Tools, texts } from './scripts.ts'
import { killAllIn, type NewestStage } from './stage.ts'

/** An agent that plays the scenes, in its newest version or in any other. */
export interface NewestAgent extends Omit<SceneAgent, 'scripts'> {
  /** Its name in the table. */
  readonly name: string
  readonly tools: (directory: string) => Tools
  /** Returns the newest version on npm. */
  newest(): Promise<string>
  /** Downloads the version, unless it is in the cache. */
  fetch(version: string): Promise<unknown>
  /** Default: the version of the recordings. */
  open(version?: string): Promise<NewestStage>
  /** Prepares the contract of sources. */
  openContract(version: string): Promise<ContractStages>
}

/** Makes the stages of a contract. */
export interface ContractStages {
  readonly setup: () => SourceStage | Promise<SourceStage>
  /** Ends what the stages share. */
  close(): Promise<void>
}

/** An agent that runs as a program on its standard input and output. */
export interface ProgramAgent extends Omit<SceneAgent, 'scripts'> {
  readonly name: string
  readonly program: AgentName
  /** Whether Node.js runs the program. Default: it runs by itself. */
  readonly needsNode?: boolean
  readonly tools: (directory: string) => Tools
  /** Files of its home, by path. */
  readonly files?: (model: ScriptedModel) => Readonly<Record<string, string>>
  readonly source: (program: AgentProgram, stage: ScriptedStage) => Source
  /** The mode that asks before it acts. */
  readonly mode?: string
  /** See `NewestStage`. */
  readonly asksWithoutCall?: boolean
  /** The name of one of its slash commands. Absent if it lists none. */
  readonly command?: string
}

/** The program to start, with the arguments that come first. */
interface AgentProgram {
  readonly command: string
  readonly args: readonly string[]
}

/** The MCP server `forms`, as a command. */
export const forms = {
  name: 'forms',
  command: process.execPath,
  args: [fileURLToPath(new URL('forms.mjs', import.meta.url))],
} as const

/** Returns the agent that the program is. */
export function agentOf({
  program,
  needsNode,
  files,
  source,
  mode,
  asksWithoutCall,
  command,
  ...agent
}: ProgramAgent): NewestAgent {
  const start = async (version?: string) => {
    const binary = await agentBinary(program, version)
    const runner = needsNode ? await agentBinary('node') : binary
    const stage = await startScripted((directory) => scriptsFor(agent.tools(directory)), files)
    const recorder = recorderOf({ name: 'agent', command: runner, folder: stage.home })
    return { stage, log: recorder.log, started: { command: recorder.program, args: needsNode ? [binary] : [] } }
  }
  return {
    ...agent,
    newest: async () => await newestAgent(program),
    fetch: async (version) => await agentBinary(program, version),
    open: async (version) => {
      const { stage, log, started } = await start(version)
      const { home, directory, model } = stage
      let client = connectSource(source(started, stage))
      return {
        client: () => client,
        model,
        directory,
        mode,
        asksWithoutCall,
        restart: async () => {
          await client.close()
          client = connectSource(source(started, stage))
        },
        kill: async () => await killAllIn(home),
        lines: () => linesIn(readFileSync(log, 'utf8')),
        close: async () => {
          await client.close()
          await killAllIn(home)
          await stage.close()
        },
      }
    },
    openContract: async (version) => ({ setup: async () => await contractStage(version), close: async () => {} }),
  }

  async function contractStage(version: string): Promise<SourceStage> {
    const { stage, started } = await start(version)
    const { home, directory } = stage
    const scripts = scriptsFor(agent.tools(directory))
    const prompt = (name: string): string | undefined => (scripts[name] ? `[scenario:${name}] Go.` : undefined)
    const own = source(started, stage)
    // The contract names no mode.
    const prompted: Source = {
      ...own,
      prompt: async (place, input) => await own.prompt(place, { agent: mode, ...input }),
    }
    return {
      source: prompted,
      unreachable: source({ command: 'no-such-agent', args: [] }, stage),
      directory,
      secrets: ['scripted-key'],
      prompts: {
        plain: { text: '[scenario:plain] Go.', answer: texts.plain },
        endless: '[scenario:endless] Go.',
        permission: prompt('permission'),
        always: prompt('always'),
        question: prompt('question'),
        delegate: prompt('delegate-asking'),
        command,
      },
      close: async () => {
        own.close()
        await killAllIn(home)
        await stage.close()
      },
    }
  }
}

/** The lines that the agent wrote, of a log in which the last line may be cut. */
function linesIn(log: string): readonly unknown[] {
  return log.split('\n').flatMap((text) => {
    if (!text.endsWith('}')) return []
    const { from, line } = JSON.parse(text)
    return from === 'agent' ? [line] : []
  })
}
