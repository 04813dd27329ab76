import { openServer } from '../connection.ts'
import { ConsoleError } from '../error.ts'
import { EXIT } from '../exit-code.ts'
import { listenForExit } from '../exit-signals.ts'
import { createOutput, noteWriter, type OutputOptions } from '../output.ts'
import type { ProcessIO } from '../process-io.ts'
import { runPrompt } from '../run-prompt.ts'
import { DEFAULT_URL } from '../server-url.ts'
import { watch } from './watch.ts'

/** The options of `reply demo`. */
export interface DemoCommandOptions extends OutputOptions {
  /** Watch this server instead of starting one. */
  readonly url?: string | undefined
  /** List the scenarios and exit. */
  readonly list?: boolean | undefined
}

const STOP_MS = 5_000

const FAREWELL = [
  'That was a scripted model on a real server.',
  'To use your own server, once `opencode serve` is running:',
  `  npx reply demo --url ${DEFAULT_URL}`,
  `  npx reply watch --url ${DEFAULT_URL}`,
  '  npx reply prompt "Why does the build fail?"',
]

type Testing = typeof import('@reply/testing')

/**
 * Starts a real OpenCode server with a scripted model, and shows its reply to one prompt. Without a person to ask, it
 * takes the first option of every question after a second. Always stops the server. Resolves with the exit code. With `url`
 * it watches that server instead, and with `list` it only lists the scenarios. Rejects with `usage` for an unknown scenario,
 * and for one together with `url`.
 */
export async function demo(scenario: string | undefined, options: DemoCommandOptions, io: ProcessIO): Promise<number> {
  if (options.url !== undefined && scenario !== undefined) {
    throw new ConsoleError('usage', 'A scenario runs on its own server. Omit the scenario or --url.')
  }
  if (options.url !== undefined) return await watch(options, io)
  const testing = await loadTesting()
  const note = noteWriter(io, options)
  if (options.list === true) {
    for (const { name, shows } of testing.demoScenarios) note(`${name}: ${shows}`)
    return EXIT.done
  }
  if (scenario !== undefined && testing.demoScenarios.every(({ name }) => name !== scenario)) {
    const names = testing.demoScenarios.map(({ name }) => name).join(', ')
    throw new ConsoleError('usage', `Unknown scenario "${scenario}". Choose one of ${names}.`)
  }
  note('Starting a real OpenCode server with a scripted model, without a key or a network …')
  let isTalking = false
  // While the reply runs, `runPrompt` handles Control-C and aborts it.
  const exit = listenForExit(io, { interrupted: () => (isTalking ? undefined : EXIT.interrupted) })
  const starting = testing.startDemo(scenario === undefined ? {} : { scenario })
  try {
    const started = await Promise.race([starting, exit.code])
    if (typeof started === 'number') return started
    note(`OpenCode ${started.version} at ${started.url}`)
    const onTalk = () => {
      isTalking = true
    }
    return await Promise.race([promptServer(started, onTalk, options, io), exit.code])
  } finally {
    await Promise.race([stopOnceStarted(starting), stopTimeout(io)])
    exit.stop()
  }
}

/** Stops the server once it has started. Does nothing if the start fails. */
async function stopOnceStarted(starting: ReturnType<Testing['startDemo']>): Promise<void> {
  await starting.then(
    (started) => started.stop(),
    () => undefined,
  )
}

/** Resolves after `STOP_MS`, because a start may include a download. Remaining work ends with the process. */
function stopTimeout({ clock }: ProcessIO): Promise<void> {
  return new Promise((resolve) => void clock.after(STOP_MS, resolve))
}

/** Shows the reply to the demo's prompt, and returns the exit code. Calls `onTalk` right before the prompt is sent. */
async function promptServer(
  started: Awaited<ReturnType<Testing['startDemo']>>,
  onTalk: () => void,
  options: DemoCommandOptions,
  io: ProcessIO,
): Promise<number> {
  const note = noteWriter(io, options)
  const { url, directory, prompt } = started
  const client = await openServer({ url, directory }, { ...io, env: {} }, note)
  try {
    const output = createOutput(io, options, { prompt: true, client, hint: 'ctrl-c aborts' })
    const asks = output.interactive ? undefined : 'first'
    onTalk()
    const code = await runPrompt({ client, output, request: { text: prompt }, asks }, io)
    if (code >= 128) return code
    note('')
    for (const row of FAREWELL) note(row)
    return code
  } finally {
    await client.close()
  }
}

/** Imports the package of the demo. Throws `missing` if it isn't installed. */
async function loadTesting(): Promise<Testing> {
  try {
    return await import('@reply/testing')
  } catch (cause) {
    throw new ConsoleError('missing', 'The demo requires @reply/testing. Run `npm install @reply/testing`.', { cause })
  }
}
