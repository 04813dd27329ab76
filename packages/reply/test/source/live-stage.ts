import { setTimeout } from 'node:timers/promises'
import { openCode2Password } from '@reply/testing'
import { isOpenCode2 } from '@reply/testing/internal'
import { systemClock } from '../../src/clock.ts'
import type { ReplyEvent } from '../../src/event.ts'
import { textOf } from '../../src/index.ts'
import { createOpenCode } from '../../src/source/detect.ts'
import { toAddress } from '../../src/source/http/address.ts'
import type { ConnectionOptions, Source } from '../../src/source.ts'
import type { ExistingSession, SourceStage } from '../../src/testing.ts'
import type { Stage } from '../drive/server.ts'

/** A source at an address. */
export function sourceAt(
  url: string,
  call: typeof fetch = (input, init) => fetch(input, init),
  password?: string,
): Source {
  return createOpenCode({
    address: toAddress({ url, password }),
    fetch: call,
    clock: systemClock,
    deadlineMs: 60_000,
    maxAnswerBytes: 64 * 1024 * 1024,
    onError: (error) => {
      throw error
    },
  })
}

/** No server listens on the discard port. */
export const nowhere = 'http://127.0.0.1:9'

/** The stage of the contract on a real server, with an existing session of `delegated`. */
export function contractStage({ server }: Stage, existing: ExistingSession): SourceStage {
  const source = sourceAt(server.url, undefined, isOpenCode2(server.version) ? openCode2Password : undefined)
  return {
    source: { ...source, connect: (options) => connectOnceHeard(source, server.directory, options) },
    unreachable: sourceAt(nowhere),
    directory: server.directory,
    existing,
    prompts: {
      plain: { text: 'Go. [scenario:plain]', answer: 'Hello there.' },
      endless: '[scenario:forever]',
      permission: '[scenario:permission]',
      always: '[scenario:always]',
      unasked: '[scenario:writes]',
      question: '[scenario:question]',
      delegate: '[scenario:child]',
      command: 'greet',
    },
    close: async () => source.close(),
  }
}

/**
 * Connects, and holds back `connected` until the connection certainly receives events. Servers from 1.17 on send it
 * shortly before they subscribe to their own events. A client reads again what it missed by that; the contract has the
 * events alone.
 */
async function* connectOnceHeard(
  source: Source,
  directory: string,
  options: ConnectionOptions,
): AsyncGenerator<readonly ReplyEvent[]> {
  const title = 'Probe'
  let isHeard = false
  let probing: Promise<void> | undefined
  const held: (readonly ReplyEvent[])[] = []
  try {
    for await (const events of source.connect(options)) {
      isHeard ||= events.some((event) => event.type === 'session' && event.title === title)
      held.push(events)
      probing ??= probe()
      if (isHeard) yield* held.splice(0)
    }
  } finally {
    isHeard = true
    await probing
  }

  /** Creates sessions until one is heard of. */
  async function probe(): Promise<void> {
    while (!isHeard) {
      await source.create({ directory, title })
      if (!isHeard) await setTimeout(100)
    }
  }
}

/** A session with a sub-agent and then a second run. */
export async function delegated({ opencode }: Stage): Promise<ExistingSession> {
  const stream = opencode.prompt({ text: '[scenario:child]' })
  for await (const { ask } of stream.filter(['permissionAsked', 'askChanged'])) {
    if (ask.type !== 'permission' || !ask.call) continue
    await opencode.answer(ask, 'once')
    break
  }
  const first = await stream.result
  const { sessionID } = first
  const second = await opencode.prompt({ text: '[scenario:plain]', sessionID }).result
  const ids = [first, second].flatMap(({ promptIDs, messages }) => [...promptIDs, ...messages.map(({ id }) => id)])
  const childIDs = first.children.map((child) => child.reply.sessionID)
  return { sessionID, messageIDs: ids, answer: textOf(second), childIDs }
}
