import { realClock, type TestClock } from '../clock.ts'
import { createCallLog } from '../platform/calls.ts'
import { createObservers, type FakeHttpPlatform } from '../platform/fake.ts'
import { createFakeServer } from '../platform/server.ts'
import { limits } from './limits.ts'
import { Refusal } from './refusal.ts'
import { createNtfyApi, type NtfyCall, type NtfyFault, type NtfyMessage } from './server.ts'

/** How the server is set up. All options may be left out. */
export interface NtfyOptions {
  /** The token that may publish. Default: everyone may. */
  readonly token?: string
  /** The clock for the budget and delays. Default: the system's. */
  readonly clock?: TestClock
  /** The faults to apply. Default: none. */
  readonly faults?: readonly NtfyFault[]
  /** `false` for a server before 2.16, which ignores `sequence_id`. Default: true. */
  readonly knowsSequences?: boolean
}

/** An ntfy server, and the phones that subscribe to its topics. A place is a topic. */
export interface FakeNtfy extends FakeHttpPlatform<string, NtfyCall, NtfyFault, NtfyMessage> {
  /** The address of the server. */
  readonly url: string
}

/** Starts a fake ntfy server on loopback. You can start several. */
export async function startNtfy(options: NtfyOptions = {}): Promise<FakeNtfy> {
  const { token, clock = realClock, faults = [], knowsSequences = true } = options
  const log = createCallLog<NtfyCall, NtfyFault>(clock, faults, () => true)
  const { observe, changed } = createObservers<string>()
  const shown = new Map<string, readonly NtfyMessage[]>()
  const rang = new Map<string, number>()
  let allowed: number = limits.requests
  let filledAt = clock.now()
  const state = { token, knowsSequences, spend, show }
  const server = createFakeServer(
    'ntfy',
    createNtfyApi(state, log, () => clock.now()),
  )
  await server.listen()
  return {
    url: server.origin,
    calls: log.calls,
    count: (topic) => log.calls.filter((call) => call.topic === topic).length,
    screen: (topic) => shown.get(topic) ?? [],
    notifications: (topic) => rang.get(topic) ?? 0,
    inject: log.inject,
    observe,
    close: () => {
      log.close()
      return server.close()
    },
  }

  /** Takes a request from a bucket that fills by one each `replenishMs`. */
  function spend(): void {
    const refills = Math.floor((clock.now() - filledAt) / limits.replenishMs)
    allowed = Math.min(limits.requests, allowed + refills)
    filledAt += refills * limits.replenishMs
    if (allowed === 0) throw new Refusal(42901)
    allowed -= 1
  }

  /**
   * Shows a message, in place of one with the same sequence id.
   * https://docs.ntfy.sh/publish/#updating-deleting-notifications
   */
  function show(topic: string, message: NtfyMessage): void {
    const before = shown.get(topic) ?? []
    const kept = before.filter(({ sequenceID }) => sequenceID === undefined || sequenceID !== message.sequenceID)
    shown.set(topic, [...kept, message])
    rang.set(topic, (rang.get(topic) ?? 0) + 1)
    changed(topic)
  }
}
