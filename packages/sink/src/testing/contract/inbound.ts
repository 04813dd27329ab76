import type { Clock } from '@reply/core'
import type { Demand } from '@reply/core/testing'
import type { Inbound } from '../../inbound/inbound.ts'
import { callTimeoutMs } from '../../port/call.ts'
import type { Sink } from '../../sink.ts'
import { settledDelivery, startReply } from './acting.ts'
import { replyOf } from './script.ts'
import { must, until } from './stage.ts'

/**
 * How the fake platform fails the next call that answers a person.
 *
 * - `rate-limited`: refuses it with `InboundStage.limitMs` to wait.
 * - `limited-too-long`: refuses it with a wait after which the answer would be too late.
 * - `stalled`: never responds to it.
 */
export type InboundFault = 'rate-limited' | 'limited-too-long' | 'stalled'

/** A channel on its fake platform, in a chat with one person. */
export interface InboundStage {
  /** The clock of the channel and its platform. */
  readonly clock: Clock
  /** Advances the clock, and lets running calls end. */
  pass(ms: number): Promise<void>
  /** Makes the channel receive. Called once for each clause. */
  listen(host: InboundHost): void | Promise<void>
  /** Writes a text as a person. Resolves when the host has received it. */
  writeText(): Promise<void>
  /** Presses a button as a person. Absent if presses get no notice or there are no buttons. */
  press?: (() => Promise<void>) | undefined
  /** Presses a button that the host posted. Absent if presses are messages or there are no buttons. */
  pressOwn?: (() => Promise<void>) | undefined
  /** The faults that the platform supports. */
  readonly faults: readonly InboundFault[]
  /** The wait of `rate-limited`, in ms. */
  readonly limitMs: number
  /** Makes the next call that answers a person fail. */
  failNext(fault: InboundFault): void
  /** The times of all calls that answer a person or post, in ms since the epoch. */
  calls(): readonly number[]
  /** The channel's sink for that chat. */
  sink(): Sink
  /** Stops the channel and the fake platform. Called at the end of each clause. */
  close(): Promise<void>
}

/** The callbacks of the channel of an `InboundStage`. */
export interface InboundHost {
  /** For the channel's `onInbound`. */
  onInbound(inbound: Inbound): Promise<void>
  /** For the channel's `onError`. */
  onError(error: Error): void
}

const kinds = ['text', 'press'] as const

const supports =
  (kind: (typeof kinds)[number], fault: InboundFault) =>
  ({ faults, press }: InboundStage): boolean =>
    faults.includes(fault) && (kind === 'text' || press !== undefined)

/** How every channel answers people: it respects rate limits and never hangs. */
export const inbound = [
  {
    name: 'sends the answer to a text again when a rate limit is over',
    needs: supports('text', 'rate-limited'),
    run: async (stage) => await mustSendAgain(stage, 'text'),
  },
  {
    name: 'sends the answer to a press again when a rate limit is over',
    needs: supports('press', 'rate-limited'),
    run: async (stage) => await mustSendAgain(stage, 'press'),
  },
  {
    name: 'makes the sinks wait after a rate-limited answer',
    needs: supports('text', 'rate-limited'),
    run: async (stage) => {
      await answerWithFault(stage, 'text', 'rate-limited')
      const sink = stage.sink()
      startReply(sink, replyOf('All done.', { isSettled: true }))
      await settledDelivery(stage, sink)
      await sink.stop()
      const [first = 0, next = 0] = stage.calls()
      must(next - first >= stage.limitMs, `The next call came after ${next - first} ms.`)
    },
  },
  {
    name: 'drops the answer to a text that would come too late',
    needs: supports('text', 'limited-too-long'),
    run: async (stage) => await mustDrop(stage, 'text'),
  },
  {
    name: 'drops the answer to a press that would come too late',
    needs: supports('press', 'limited-too-long'),
    run: async (stage) => await mustDrop(stage, 'press'),
  },
  {
    name: 'gives up an answer to a text that has no response in time',
    needs: supports('text', 'stalled'),
    run: async (stage) => await mustGiveUp(stage, 'text'),
  },
  {
    name: 'gives up an answer to a press that has no response in time',
    needs: supports('press', 'stalled'),
    run: async (stage) => await mustGiveUp(stage, 'press'),
  },
  {
    name: "leaves the answer to a button of the host's own to the host",
    needs: ({ pressOwn }) => pressOwn !== undefined,
    run: async (stage) => {
      const received: Inbound[] = []
      const errors: Error[] = []
      await stage.listen({
        onInbound: async (one) => void received.push(one),
        onError: (error) => errors.push(error),
      })
      await stage.pressOwn?.()
      await stage.pass(60_000)
      const [one, ...more] = received
      must(one?.type === 'press' && one.isForeign === true, `The host received a ${one?.type ?? 'nothing'}.`)
      must(more.length === 0, `The host received it ${1 + more.length} times.`)
      must(stage.calls().length === 0, 'The channel answered it.')
      must(errors.length === 0, `It was reported: ${errors[0]?.message}`)
    },
  },
] as const satisfies readonly Demand<InboundStage>[]

interface Answered {
  readonly received: readonly Inbound[]
  readonly errors: readonly Error[]
  /** How often the host's handler finished. */
  readonly handled: () => number
}

/** Acts as a person while the first call that answers it fails. Resolves once that call was made. */
async function answerWithFault(
  stage: InboundStage,
  kind: (typeof kinds)[number],
  fault: InboundFault,
): Promise<Answered> {
  const received: Inbound[] = []
  const errors: Error[] = []
  let handled = 0
  await stage.listen({
    onInbound: async (one) => {
      received.push(one)
      if (one.type !== 'stop') await one.answer('Not an option.')
      handled += 1
    },
    onError: (error) => errors.push(error),
  })
  stage.failNext(fault)
  await (kind === 'press' ? stage.press?.() : stage.writeText())
  await until(stage, {
    isDone: () => stage.calls().length > 0,
    withinMs: 10_000,
    message: 'The person gets no answer.',
  })
  must(received[0]?.type === kind, `The host received a ${received[0]?.type}.`)
  return { received, errors, handled: () => handled }
}

/** Throws unless a rate-limited answer is sent once more after the wait, and without an error. */
async function mustSendAgain(stage: InboundStage, kind: (typeof kinds)[number]): Promise<void> {
  const { received, errors, handled } = await answerWithFault(stage, kind, 'rate-limited')
  await until(stage, {
    isDone: () => handled() === 1,
    withinMs: stage.limitMs + callTimeoutMs,
    message: 'The answer hangs.',
  })
  const [first = 0, second = 0, ...more] = stage.calls()
  must(second - first >= stage.limitMs, `The next try came after ${second - first} ms.`)
  must(more.length === 0, `It was tried ${more.length} times more.`)
  must(errors.length === 0, `It was reported: ${errors[0]?.message}`)
  must(received.length === 1, `The host received it ${received.length} times.`)
}

/** Throws unless an answer that would come too late is dropped at once and reported. */
async function mustDrop(stage: InboundStage, kind: (typeof kinds)[number]): Promise<void> {
  const { received, errors, handled } = await answerWithFault(stage, kind, 'limited-too-long')
  await until(stage, { isDone: () => handled() === 1, withinMs: 1000, message: 'The host waits for the answer.' })
  must(stage.calls().length === 1, 'The answer was sent in spite of the pause.')
  must(received.length === 1, `The host received it ${received.length} times.`)
  mustReportOneAnswer(errors)
}

/** Throws unless an answer without a response is given up at the deadline and reported. */
async function mustGiveUp(stage: InboundStage, kind: (typeof kinds)[number]): Promise<void> {
  const { errors, handled } = await answerWithFault(stage, kind, 'stalled')
  await until(stage, { isDone: () => handled() === 1, withinMs: callTimeoutMs + 1000, message: 'The answer hangs.' })
  const tookMs = stage.clock.now() - (stage.calls()[0] ?? 0)
  must(tookMs >= callTimeoutMs, `It was given up after ${tookMs} ms.`)
  mustReportOneAnswer(errors)
}

/** Throws unless there is exactly one error, of type `answer`. */
function mustReportOneAnswer(errors: readonly Error[]): void {
  const types = errors.map((error) => ('type' in error ? String(error.type) : error.name))
  must(types.join() === 'answer', `The reported errors are: ${types.join(', ') || 'none'}.`)
}
