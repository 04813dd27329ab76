import type { BinaryOptions } from '../binary.ts'
import { TestingError } from '../error.ts'
import { launchOpencode } from '../launch.ts'
import { startModel } from '../model/start.ts'
import { demoFiles } from './project.ts'
import { demoScenarios } from './scenarios.ts'

/** Which scenario the demo plays, and how fast. */
export interface DemoOptions extends BinaryOptions {
  /** A name in {@link demoScenarios}. Default: the first. */
  readonly scenario?: string
  /** Pause between two chunks of the model, in ms. Default 15, slow enough to read along. */
  readonly chunkDelayMs?: number
  /** Code points per chunk. Default 4. */
  readonly chunk?: number
}

/** A running demo. */
export interface Demo {
  /** The OpenCode server's URL. */
  readonly url: string
  /** The sample project's directory, in the server's spelling. */
  readonly directory: string
  /** The name of the scenario that it plays. */
  readonly scenario: string
  /** The prompt to send. Any other prompt plays the scenario too. */
  readonly prompt: string
  /** The version of the OpenCode server. */
  readonly version: string
  /** Stops the server and the model, and removes the project. */
  stop(): Promise<void>
}

/**
 * Starts a real OpenCode server with a scripted model and a sample project. You need no key, and no network once the
 * binary is cached. Rejects with type `scenario` for an unknown name, and with `install` or `launch` if the server
 * can't run.
 */
export const startDemo = async (options: DemoOptions = {}): Promise<Demo> => {
  const wanted = options.scenario ?? demoScenarios[0]?.name
  const played = demoScenarios.find((each) => each.name === wanted)
  if (played === undefined) {
    const names = demoScenarios.map((each) => each.name).join(', ')
    throw new TestingError('scenario', `There is no demo scenario named ${wanted}: choose one of ${names}.`)
  }
  const model = await startModel({
    scripts: played.scripts,
    fallback: played.name,
    chunkDelayMs: options.chunkDelayMs ?? 15,
    chunk: options.chunk ?? 4,
  })
  try {
    const { config } = played
    const opencode = await launchOpencode({
      ...options,
      model,
      files: demoFiles,
      ...(config === undefined ? {} : { config }),
    })
    return {
      url: opencode.url,
      directory: opencode.directory,
      scenario: played.name,
      prompt: played.prompt,
      version: opencode.version,
      stop: async () => {
        await opencode.stop()
        await model.close()
      },
    }
  } catch (error) {
    await model.close()
    throw error
  }
}
