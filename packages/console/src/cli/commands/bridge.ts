import { cleanLine } from '../../format/sanitize.ts'
import { ConsoleError } from '../error.ts'
import { EXIT, sayError } from '../exit-code.ts'
import { listenForExit } from '../exit-signals.ts'
import type { ProcessIO } from '../process-io.ts'

export interface BridgeCommandOptions {
  readonly config: string
}

/** Connects chats with servers until Control-C. Ends with 1 if another process takes over its state. */
export async function bridge({ config }: BridgeCommandOptions, io: ProcessIO): Promise<number> {
  const { openBridge } = await loadBridge()
  const say = (words: string): void => void io.stderr.write(`reply: ${words}\n`)
  let isOver = (_: number): void => {}
  const over = new Promise<number>((resolve) => {
    isOver = resolve
  })
  const left = listenForExit(io, { interrupted: () => EXIT.done })
  try {
    const opened = await openBridge({
      ...{ path: config, env: io.env, clock: io.clock },
      onError: (error) => void io.stderr.write(`${sayError(error, io.env)}\n`),
      onNotice: say,
      onEnd: ({ message }) => {
        say(message)
        isOver(EXIT.failed)
      },
    })
    try {
      const ended = Promise.race([left.code, over])
      const code = await Promise.race([
        opened
          .start()
          .then(() => refuseWebhooks(opened.webhooks()))
          .then(() => ended),
        ended,
      ])
      return code === EXIT.terminated || code === EXIT.hungUp ? EXIT.done : code
    } finally {
      await opened.stop()
    }
  } finally {
    left.stop()
  }
}

/** Checks each part of the config, and says what is missing. Ends with 1 if a bridge could not use all of it. */
export async function checkConfig({ config }: BridgeCommandOptions, io: ProcessIO): Promise<number> {
  const { checkBridge } = await loadBridge()
  const checked = await checkBridge({ path: config, env: io.env, clock: io.clock })
  for (const { part, isUsable, found } of checked) {
    io.stdout.write(`${isUsable ? '✓' : '✗'} ${cleanLine(part)}: ${cleanLine(found)}\n`)
  }
  return checked.every(({ isUsable }) => isUsable) ? EXIT.done : EXIT.failed
}

export async function loadBridge(): Promise<typeof import('@reply/bridge')> {
  try {
    return await import('@reply/bridge')
  } catch (cause) {
    throw new ConsoleError('missing', 'The bridge needs @reply/bridge, and a package for each channel: install them.', {
      cause,
    })
  }
}

/** The command has no server that a platform could reach. */
function refuseWebhooks(names: readonly string[]): void {
  if (names.length === 0) return
  const cure = 'Let them poll or use a socket, or call openBridge() in a server of your own.'
  throw new ConsoleError('usage', `The command can't receive requests, which ${names.join(', ')} would need. ${cure}`)
}
