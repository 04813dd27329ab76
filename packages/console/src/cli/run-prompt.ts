import type { Client, Reply } from '@reply/core'
import { type Unattended, unattendedAskObserver } from '../asks/unattended.ts'
import { EXIT, exitCodeOf } from './exit-code.ts'
import { listenForExit } from './exit-signals.ts'
import type { ReplyOutput } from './output.ts'
import type { ProcessIO } from './process-io.ts'

/** A prompt to send, and how to show its reply. */
export interface PromptRun {
  readonly client: Pick<Client, 'prompt' | 'answer' | 'reject'>
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
 * client started continues. Resolves with the exit code of the outcome or the signal.
 */
export async function runPrompt(run: PromptRun, io: ProcessIO): Promise<number> {
  const { client, output, request, timeoutMs, asks } = run
  let aborting = false
  const leaving = new AbortController()
  const observers =
    asks === undefined
      ? []
      : [
          unattendedAskObserver(asks, {
            client,
            note: output.note,
            clock: io.clock,
            cure: 'use a terminal, or --asks wait',
            isOwn: () => stream.joined !== true,
          }),
        ]
  const exit = listenForExit(io, {
    interrupted: () => {
      if (aborting) return EXIT.interrupted
      output.setHint('aborting, ctrl-c again exits')
      abort()
      return undefined
    },
    readerLeft: EXIT.readerLeft,
  })
  const stream = client.prompt(request, {
    observe: (reply: Reply) => [...output.observe(reply), ...observers],
    signal: leaving.signal,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  })

  /** Aborts the reply once. A failure is noted. */
  function abort(): void {
    if (aborting) return
    aborting = true
    stream.abort().catch((error: unknown) => output.note(error instanceof Error ? error.message : String(error)))
  }

  /** Returns the exit code once the settled reply is shown. */
  async function showToEnd(): Promise<number> {
    const reply = await stream.result
    await output.settled()
    output.printJson(reply)
    run.onEnd?.(reply)
    return exitCodeOf(reply.outcome)
  }

  /** Aborts the run, unless another client began it, and waits at most `waitMs` for its end. Notes a run that continues. */
  async function stopRun(waitMs: number): Promise<void> {
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
    const code = await Promise.race([showToEnd(), exit.code])
    if (code >= 128) await stopRun(code === EXIT.interrupted ? LEAVE_AT_ONCE_MS : LEAVE_MS)
    return code
  } finally {
    exit.stop()
    await output.stop()
  }
}
