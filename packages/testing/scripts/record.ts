import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { TestingError } from '../src/error.ts'
import { isOpenCode2 } from '../src/generation.ts'
import { launchOpencode, openCode2Password } from '../src/launch.ts'
import { startModel } from '../src/model/start.ts'
import { type RecordedState, writeRecording } from '../src/recordings.ts'
import { redact } from '../src/redact.ts'
import type { Scenario } from '../src/scenario.ts'
import { scenariosOf } from '../src/scenarios/scenarios.ts'
import { recordedVersions } from '../src/versions.ts'
import { driverFor } from './drivers/all.ts'
import { createKit, createWire } from './kit.ts'
import { startTape, type Tape } from './tape.ts'
import { startWatch } from './watch.ts'

const newest = recordedVersions.at(-1)

/** The global stream sends server.connected an unknown time before it listens: see WIRE-NOTES.md. */
const listeningMs = 500
const attempts = 5

/** The types of a tape's events, separated by commas, without those that only one of the streams has. */
const eventsOf = (tape: Tape): string =>
  tape.frames
    .map(({ type }) => type)
    .filter((type) => !/^(sync|server\.|project\.)/.test(type))
    .join()

/**
 * Plays one scenario on a server of its own, and stores its stream, its state and the replies of a watch. Resolves with
 * the number of frames, or with undefined, without storing anything, if the global stream missed events.
 */
const record = async (version: string, scenario: Scenario): Promise<number | undefined> => {
  const model = await startModel({
    scripts: scenario.scripts,
    fallback: scenario.name,
    generation: isOpenCode2(version) ? 2 : 1,
    keepAlive: scenario.keepAlive ?? true,
  })
  const undo: (() => Promise<unknown>)[] = [model.close]
  try {
    const { config, files, env } = scenario
    const opencode = await launchOpencode({
      version,
      model,
      warm: false,
      ...(config === undefined ? {} : { config }),
      ...(files === undefined ? {} : { files }),
      ...(env === undefined ? {} : { env }),
    })
    undo.unshift(opencode.stop)
    const unused = async (): Promise<undefined> => undefined
    const { directory, url } = opencode
    const { stream, headers } = createWire(version, { directory, send: unused, read: unused })
    const tape = await startTape(`${url}${stream}`, headers)
    const global = version === newest ? await startTape(`${opencode.url}/global/event`) : undefined
    const watch = await startWatch({ url, directory, ...(isOpenCode2(version) && { password: openCode2Password }) })
    undo.unshift(() => watch.stop(0))
    await sleep(listeningMs)
    const kit = createKit({
      opencode,
      model,
      tape,
      others: global === undefined ? [] : [global],
      scenario,
    })
    await driverFor(scenario.name)(kit)
    await kit.settled()
    const truth = await kit.truth()
    const watched = await watch.stop(45_000)
    await tape.stop()
    await global?.stop()
    if (global !== undefined && eventsOf(global) !== eventsOf(tape)) return undefined
    const machine = {
      directory: opencode.directory,
      home: opencode.home,
      root: opencode.root,
      serverPort: opencode.port,
      modelPort: Number(new URL(model.url).port),
    }
    const clean = (text: string): string => redact(text, machine)
    const event = clean(tape.text())
    const replies = JSON.parse(clean(JSON.stringify(watched))) as readonly unknown[]
    const streams = { event, watched: replies, ...(global === undefined ? {} : { global: clean(global.text()) }) }
    await writeRecording(JSON.parse(clean(JSON.stringify(truth))) as RecordedState, streams)
    return tape.frames.length
  } finally {
    for (const each of undo) await each()
  }
}

const { values } = parseArgs({
  options: {
    version: { type: 'string', multiple: true },
    scenario: { type: 'string', multiple: true },
    jobs: { type: 'string', default: '2' },
  },
})
const versions = values.version ?? recordedVersions
const queue = versions.flatMap((version) =>
  scenariosOf(version)
    .filter(({ name }) => values.scenario?.includes(name) ?? true)
    .map((scenario) => ({ version, scenario })),
)
if (queue.length === 0)
  throw new TestingError(
    'scenario',
    `${versions} play no scenario named ${values.scenario}: choose from ${versions.flatMap(scenariosOf).map(({ name }) => name)}.`,
  )
const failed: string[] = []
/** Records from the queue until it is empty, and prints each result. Adds what can't be recorded to `failed`. */
const work = async (): Promise<void> => {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const name = `${next.version}/${next.scenario.name}`
    const startedAt = Date.now()
    try {
      let frames = await record(next.version, next.scenario)
      for (let tries = 1; frames === undefined && tries < attempts; tries++)
        frames = await record(next.version, next.scenario)
      if (frames === undefined)
        throw new TestingError(
          'recording',
          `The global stream missed events ${attempts} times: try again with less load.`,
        )
      console.log(`${name}: ${frames} frames, ${Date.now() - startedAt} ms`)
    } catch (error) {
      failed.push(name)
      console.error(`${name}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}
await Promise.all(Array.from({ length: Number(values.jobs) }, work))
if (failed.length > 0) {
  console.error(`Not recorded: ${failed.join(', ')}`)
  process.exitCode = 1
}
