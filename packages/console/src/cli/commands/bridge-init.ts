import { isCancel, log, password, select, text } from '@clack/prompts'
import type { Questions } from '@reply/bridge'
import { cleanLine } from '../../format/sanitize.ts'
import { ConsoleError } from '../error.ts'
import { EXIT } from '../exit-code.ts'
import type { ProcessIO } from '../process-io.ts'
import { loadBridge } from './bridge.ts'

export interface BridgeInitOptions {
  readonly config: string
  readonly force?: boolean
}

/** Asks what a bridge needs, checks it, and writes the config. */
export async function bridgeInit({ config, force }: BridgeInitOptions, io: ProcessIO): Promise<number> {
  const { initBridge } = await loadBridge()
  if (!io.stdin.isTTY) throw new ConsoleError('usage', 'init asks questions, so it needs a terminal.')
  try {
    await initBridge({ path: config, force, clock: io.clock, questions: terminalQuestions() })
  } catch (error) {
    if (error instanceof GivenUp) return EXIT.interrupted
    throw error
  }
  log.success(`Start it: npx reply bridge --config ${config}`)
  return EXIT.done
}

/** Control-C at a question. */
class GivenUp extends Error {}

function terminalQuestions(): Questions {
  return {
    text: async (message, { initial, check, signal } = {}) => {
      const validate = (typed: string | undefined): string | undefined => {
        const line = (typed ?? '').trim() || (initial ?? '')
        return line === '' ? 'Type something.' : check?.(line)
      }
      const shown = initial === undefined ? {} : { placeholder: initial, defaultValue: initial }
      const typed = given(await text({ message, ...shown, validate, ...(signal && { signal }) }), signal)
      return typed.trim() || (initial ?? '')
    },
    secret: async (message) => {
      const validate = (typed: string | undefined): string | undefined =>
        typed?.trim() ? undefined : 'Type something.'
      return given(await password({ message, validate })).trim()
    },
    choose: async (message, choices) => {
      const options = choices.map(({ value, label }) => ({ value: String(value), label }))
      const chosen = given(await select({ message, options }))
      const found = choices.find(({ value }) => value === chosen)
      if (!found) throw new GivenUp()
      return found.value
    },
    say: (line) => log.message(cleanLine(line)),
  }
}

function given(answer: string | symbol, signal?: AbortSignal): string {
  if (!isCancel(answer)) return String(answer)
  signal?.throwIfAborted()
  throw new GivenUp('Given up.')
}
