import type { ServerResponse } from 'node:http'
import type { TestClock } from '../clock.ts'
import {
  type AnswerFault,
  type ConnectionFault,
  createFaultPlan,
  type FaultTimes,
  isAnswerFault,
  isConnectionFault,
} from './fault.ts'
import { type HttpAnswer, sendAnswer } from './server.ts'
import { createTimers } from './timers.ts'

type AnyFault = FaultTimes & { readonly type: string; readonly isTaken?: boolean }

/** Does the calls to a fake server, with faults, and logs them. */
export interface CallLog<Call, Fault> {
  /** Every call so far, in order of arrival. A call gets its outcome when it is done. */
  readonly calls: readonly Call[]
  /** Adds a fault. */
  inject(fault: Fault): void
  /**
   * Logs a call, does it and answers it, unless a fault prevents that. If `answerTo` has an answer for the fault, sends
   * that one, and does the call only if the fault `isTaken`. Resolves when no more will be sent.
   */
  answer<Answer extends HttpAnswer>(
    response: ServerResponse,
    call: Call,
    steps: CallSteps<Call, Fault, Answer>,
  ): Promise<void>
  /** Cancels delayed answers. */
  close(): void
}

/** How a platform does a call. */
interface CallSteps<Call, Fault, Answer> {
  /** Does the call, which this fault hit. May throw a refusal. */
  run(fault: Fault | undefined): Answer | Promise<Answer>
  /** The answer to a call that threw. */
  refused(error: unknown): Answer
  /** The platform's own answer for a fault. Undefined to do the call as usual. */
  answerTo(fault: AnswerFault<Fault>): Answer | undefined
  /** The server's answer for the log, even if the client gets another one or none. */
  outcomeOf(answer: Answer): Partial<Call>
}

/** Returns an empty log. `matches` says whether a fault applies to a call. */
export function createCallLog<Call extends { readonly fault?: string }, Fault extends AnyFault>(
  clock: TestClock,
  faults: readonly Fault[],
  matches: (fault: Fault, call: Call) => boolean,
): CallLog<Call, Fault> {
  const calls: Call[] = []
  const plan = createFaultPlan(faults, matches)
  const timers = createTimers(clock)
  return { calls, inject: plan.add, answer, close: timers.close }

  /**
   * Logs a call before it is done, so that a test sees calls that wait. Then does it and sends its answer, or what the
   * first due fault demands instead. Resolves when no more will be sent.
   */
  async function answer<Answer extends HttpAnswer>(
    response: ServerResponse,
    call: Call,
    { run, refused, answerTo, outcomeOf }: CallSteps<Call, Fault, Answer>,
  ): Promise<void> {
    const fault = plan.next(call)
    const logged: Call = { ...call, ...(fault && { fault: fault.type }) }
    const index = calls.push(logged) - 1
    if (fault === undefined) return sendAnswer(response, await runAndLog())
    if (isConnectionFault(fault)) return await breakConnection(fault)
    if (!isAnswerFault(fault)) return
    const answered = answerTo(fault)
    if (answered === undefined) return sendAnswer(response, await runAndLog())
    if (fault.isTaken) await runAndLog()
    else logOutcome(answered)
    sendAnswer(response, answered)

    /** Does the call, logs its outcome, and returns the answer: the platform's refusal if the call threw. */
    async function runAndLog(): Promise<Answer> {
      const result = await runOrRefuse()
      logOutcome(result)
      return result
    }

    /** Does the call. Resolves with its answer, or with the platform's refusal if it throws. */
    async function runOrRefuse(): Promise<Answer> {
      try {
        return await run(fault)
      } catch (error) {
        return refused(error)
      }
    }

    /** Replaces the logged call with one that has its outcome. */
    function logOutcome(result: Answer): void {
      calls[index] = { ...logged, ...outcomeOf(result) }
    }

    /**
     * Does the call unless the fault comes before it. Then breaks the connection, sends nothing, or answers after the
     * delay.
     */
    async function breakConnection(connectionFault: ConnectionFault): Promise<void> {
      switch (connectionFault.type) {
        case 'refuse':
          response.socket?.destroy()
          return
        case 'accept-then-drop':
          await runAndLog()
          response.socket?.destroy()
          return
        case 'stall':
          return
        case 'accept-then-stall':
          await runAndLog()
          return
        case 'delay':
          await timers.wait(connectionFault.delayMs)
          return sendAnswer(response, await runAndLog())
        default:
          return connectionFault satisfies never
      }
    }
  }
}
