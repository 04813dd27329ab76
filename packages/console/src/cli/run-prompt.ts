import type { Client, Reply } from '@reply/core'
import { type Unattended, unattended } from '../asks/unattended.ts'
import { EXIT, exitOf } from './exit-code.ts'
import { listenForExit } from './exit-signals.ts'
import type { ReplyOutput } from './output.ts'
import type { ProcessIO } from './process-io.ts'

export interface PromptRun {
  readonly opencode: Pick<Client, 'prompt' | 'answer' | 'reject'>
  readonly output: ReplyOutput
  readonly request: Parameters<Client['prompt']>[0]
  readonly timeoutMs?: number | undefined
  /** How asks are handled. Undefined: they are answered from the keyboard. */
  readonly asks?: Unattended | undefined
  /** Called with the settled reply, after it was shown. */
  readonly onEnd?: (reply: Reply) => void
}

/**
 * How long to wait for the server to stop before leaving, in ms: after a second Control-C, and after any other signal.
 */
const LEAVE_AT_ONCE_MS = 700
const LEAVE_MS = 5_000

/**
 * Sends one prompt and shows its reply to the end. The first Control-C aborts the reply on the server and still shows
 * how it ended. The second exits at once. SIGTERM, SIGHUP and a closed pipe abort it, then exit. A run that another
 * client started continues.
 */
export async function runPrompt(conversation: PromptRun, io: ProcessIO): Promise<number> {
  const { opencode, output, request, timeoutMs, asks } = conversation
  let aborting = false
  const leaving = new AbortController()
  const observers =
    asks === undefined
      ? []
      : [
          unattended(asks, {
            opencode,
            note: output.note,
            clock: io.clock,
            cure: 'use a terminal, or --asks wait',
            isOwn: () => stream.joined !== true,
          }),
        ]
  const left = listenForExit(io, {
    interrupted: () => {
      if (aborting) return EXIT.interrupted
      output.hint('aborting, ctrl-c again exits')
      abort()
      return undefined
    },
    readerLeft: EXIT.readerLeft,
  })
  const stream = opencode.prompt(request, {
    observe: (reply: Reply) => [...output.observe(reply), ...observers],
    signal: leaving.signal,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  })

  function abort(): void {
    if (aborting) return
    aborting = true
    stream.abort().catch((error: unknown) => output.note(error instanceof Error ? error.message : String(error)))
  }

  async function ended(): Promise<number> {
    const reply = await stream.result
    await output.settled()
    output.print(reply)
    conversation.onEnd?.(reply)
    return exitOf(reply.outcome)
  }

  /** Ends the run, unless another client began it, and waits until the server has stopped. */
  async function stopped(waitMs: number): Promise<void> {
    if (!aborting) leaving.abort()
    if (!aborting && stream.joined) return output.note('Left the run. It continues, because another client started it.')
    let cancel = (): void => {}
    const passed = new Promise<void>((resolve) => {
      cancel = io.clock.after(waitMs, resolve)
    })
    await Promise.race([stream.result, passed])
    cancel()
    if (stream.reply?.phase !== 'settled') output.note('Left before the reply ended. The server may still be working.')
  }

  try {
    const code = await Promise.race([ended(), left.code])
    if (code >= 128) await stopped(code === EXIT.interrupted ? LEAVE_AT_ONCE_MS : LEAVE_MS)
    return code
  } finally {
    left.stop()
    await output.stop()
  }
}
