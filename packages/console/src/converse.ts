import type { OpenCode, Reply } from '@reply/core'
import { EXIT, exitOf } from './exit.ts'
import { leaving } from './leave.ts'
import type { ReplyOutput } from './output.ts'
import { type Unattended, unattended } from './unattended.ts'
import type { World } from './world.ts'

export interface Conversation {
  readonly opencode: OpenCode
  readonly output: ReplyOutput
  readonly request: Parameters<OpenCode['prompt']>[0]
  readonly timeoutMs?: number | undefined
  /** What becomes of asks. Without it, the keyboard answers them. */
  readonly asks?: Unattended | undefined
  /** Called with the settled reply, after it was shown. */
  readonly onEnd?: (reply: Reply) => void
}

/** How long leaving waits for the abort to be taken. */
const LEAVE_MS = 700

/**
 * Sends one prompt and shows its reply to the end. The first Control-C aborts the reply on the server and still shows
 * how it ended; the second leaves at once.
 */
export async function converse(conversation: Conversation, world: World): Promise<number> {
  const { opencode, output, request, timeoutMs, asks } = conversation
  let aborting = false
  const observers =
    asks === undefined ? [] : [unattended(asks, { opencode, remark: output.remark, clock: world.clock })]
  const left = leaving(world, () => {
    if (aborting) return EXIT.interrupted
    aborting = true
    output.hint('aborting; ctrl-c again leaves')
    stream.abort().catch((error: unknown) => output.remark(error instanceof Error ? error.message : String(error)))
    return undefined
  })
  const stream = opencode.prompt(request, {
    observe: (reply: Reply) => [...output.observe(reply), ...observers],
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  })

  async function ended(): Promise<number> {
    const reply = await stream.result
    await output.settled()
    output.print(reply)
    conversation.onEnd?.(reply)
    return exitOf(reply.outcome)
  }

  /** Who leaves at once still wants the work to stop: the abort gets a moment to reach the server. */
  async function abortSent(): Promise<void> {
    const moment = new Promise<void>((resolve) => {
      world.clock.after(LEAVE_MS, resolve)
    })
    await Promise.race([stream.result, moment])
    if (stream.reply?.phase !== 'settled') output.remark('Left before it had ended; the server may still be at work.')
  }

  try {
    const code = await Promise.race([ended(), left.code])
    if (aborting) await abortSent()
    return code
  } finally {
    left.stop()
    await output.stop()
  }
}
