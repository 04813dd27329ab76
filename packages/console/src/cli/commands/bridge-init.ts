import { resolve } from 'node:path'
import { isCancel, log, password, select, text } from '@clack/prompts'
import type { Choice, Questions, TextOptions } from '@reply/bridge'
import { cleanLine } from '../../format/sanitize.ts'
import { ConsoleError } from '../error.ts'
import { EXIT } from '../exit-code.ts'
import type { ProcessIO } from '../process-io.ts'
import { type ConfigChoice, configPathOf, type ListenAddress, loadBridge } from './bridge.ts'

/** The options of `reply bridge init`. */
export interface BridgeInitOptions extends ConfigChoice {
  /** Overwrites an existing config. */
  readonly force?: boolean
  /** Where to receive the pairing code on a webhook channel. */
  readonly listen?: ListenAddress
}

/**
 * Asks what a bridge needs, checks it, writes the config, and prints the command that starts the bridge. Resolves with 0, or
 * with 130 on Control-C. Rejects with `usage` without a terminal.
 */
export async function bridgeInit(options: BridgeInitOptions, io: ProcessIO): Promise<number> {
  const { force, listen } = options
  const { initBridge } = await loadBridge()
  if (!io.stdin.isTTY) throw new ConsoleError('usage', 'init asks questions, so it needs a terminal.')
  const path = await configPathOf(options, io)
  try {
    const questions = terminalQuestions(io)
    const written = await initBridge({ path, force, listen, env: io.env, clock: io.clock, questions })
    log.success(`Start it: npx reply bridge${argumentsFor(written, options, path)}`, { output: io.stdout })
    return EXIT.done
  } catch (error) {
    if (error instanceof Cancelled) return EXIT.interrupted
    throw error
  }
}

/** Returns the arguments that select the written config, which may be in another place than asked for. */
function argumentsFor(written: string, { name, config }: ConfigChoice, path: string): string {
  if (config !== undefined || written !== resolve(path)) return ` --config ${written}`
  return name === 'bridge' ? '' : ` --name ${name}`
}

/** Control-C at a question. */
class Cancelled extends Error {}

/**
 * Returns questions that are asked in the terminal. A line that arrives while a text is asked for interrupts the question,
 * which is then asked again.
 */
function terminalQuestions({ stdin: input, stdout: output }: ProcessIO): Questions {
  /** Closes the question that is open. */
  let close: (() => void) | undefined
  /** Lines held back while a question is open, because they would overwrite each other. */
  const waiting: string[] = []
  return { text: askText, secret: askSecret, choose, say: sayBetween }

  /**
   * Asks for a text until `check` accepts it. An empty answer means `initial`. Asks again after a line that was said
   * meanwhile. Rejects with `Cancelled` on Control-C, and with the signal's reason if it aborts.
   */
  async function askText(message: string, options: TextOptions = {}): Promise<string> {
    const { initial, check, signal } = options
    const validate = (typed: string | undefined): string | undefined => {
      const line = (typed ?? '').trim() || (initial ?? '')
      return line === '' ? 'Enter a value.' : check?.(line)
    }
    const defaults = initial === undefined ? {} : { placeholder: initial, defaultValue: initial }
    const closing = new AbortController()
    close = () => closing.abort()
    const signals = AbortSignal.any(signal ? [signal, closing.signal] : [closing.signal])
    const answer = await text({ message, ...defaults, validate, input, output, signal: signals })
    close = undefined
    for (const line of waiting.splice(0)) sayBetween(line)
    if (isCancel(answer) && closing.signal.aborted && !signal?.aborted) return await askText(message, options)
    return answered(answer, signal).trim() || (initial ?? '')
  }

  /** Asks for a text that is not shown, until it isn't blank. Rejects with `Cancelled` on Control-C. */
  async function askSecret(message: string): Promise<string> {
    const validate = (typed: string | undefined): string | undefined => (typed?.trim() ? undefined : 'Enter a value.')
    return answered(await password({ message, validate, input, output })).trim()
  }

  /** Asks for one of the choices, and resolves with its value. Rejects with `Cancelled` on Control-C. */
  async function choose<Value extends string>(message: string, choices: readonly Choice<Value>[]): Promise<Value> {
    const options = choices.map(({ value, label }) => ({ value: String(value), label }))
    const chosen = answered(await select({ message, options, input, output }))
    const found = choices.find(({ value }) => value === chosen)
    if (!found) throw new Cancelled()
    return found.value
  }

  /** Prints a line. Interrupts an open text question, which is then asked again. */
  function sayBetween(line: string): void {
    if (!close) return log.message(cleanLine(line), { output })
    waiting.push(line)
    close()
  }
}

/** Returns the answer as a text. Throws `Cancelled` on Control-C, and the signal's reason if it aborted. */
function answered(answer: string | symbol, signal?: AbortSignal): string {
  if (!isCancel(answer)) return String(answer)
  signal?.throwIfAborted()
  throw new Cancelled('Cancelled.')
}
