import type { Observation, Part, Reply } from '@reply/core'
import { createHandClock, type HandClock } from '@reply/testing'
import { type LedgerStore, memoryStore } from '../src/ledger/ledger.ts'
import { createSink, type SinkOptions } from '../src/sink.ts'
import { createFake, type Fake, fakeRender } from '../src/testing/fake.ts'
import type { FakeOptions } from '../src/testing/fake-options.ts'
import { replyWith, settledWith, text } from './make.ts'
import { rest } from './scene.ts'
import { beginning } from './timeline.ts'

/** Processes that show one answer, one after the other, on one ledger. The source never repeats an open text. */
export interface Heirs {
  readonly fake: Fake
  readonly clock: HandClock
  /** What the chat showed after each call: its messages, joined. */
  readonly screens: readonly string[]
  /** The agent writes. The present process hears it. */
  write(words: string): Promise<void>
  /** The agent writes while no process listens. */
  writeUnheard(words: string): void
  /** The part ends, and the next words begin another one. Sources repeat it whole. */
  endPart(): Promise<void>
  /** Another process begins, which has heard that many of the last characters, 0 by default. The present one dies, or stops gracefully. */
  replace(how: 'killed' | 'stopped', heard?: number): Promise<void>
  /** The present process dies at its n-th step from now: before or after a call or a write. */
  dieAfter(steps: number): void
  /** The agent ends, and all is shown. */
  end(): Promise<void>
  pass(ms: number): Promise<void>
  /** All that the agent wrote. */
  whole(): string
  /** The newest ledger, as JSON. */
  ledger(): string
}

export function createHeirs({
  fake: fakeOptions,
  sink: sinkOptions,
  type,
}: {
  readonly fake?: Omit<FakeOptions, 'clock'>
  readonly sink?: Partial<SinkOptions>
  /** What the agent writes. Default: text. */
  readonly type?: 'reasoning'
} = {}): Heirs {
  const clock = createHandClock(beginning)
  const fake = createFake({ clock, ...fakeOptions })
  const memory = memoryStore()
  const screens: string[] = []
  let secrets = 0
  let written = ''
  let texts = ['']
  /** How much of the last text was written before the present process listened. */
  let unheard = 0
  let heir = begin()
  return {
    fake,
    clock,
    screens,
    write: async (words) => {
      texts = [...texts.slice(0, -1), `${texts.at(-1)}${words}`]
      heir.show(growing())
      await rest()
    },
    writeUnheard: (words) => {
      texts = [...texts.slice(0, -1), `${texts.at(-1)}${words}`]
      unheard = texts.at(-1)?.length ?? 0
    },
    endPart: async () => {
      texts = [...texts, '']
      unheard = 0
      heir.show(growing())
      await rest()
    },
    replace: async (how, heard = 0) => {
      if (how === 'killed') heir.die()
      else await heir.stop()
      unheard = (texts.at(-1)?.length ?? 0) - heard
      heir = begin()
      heir.show(growing())
      await rest()
    },
    dieAfter: (steps) => heir.dieAfter(steps),
    end: async () => {
      heir.show(settledWith(texts.map((words, index) => ({ ...text(words), id: `prt_${index}` }))))
      for (let waited = 0; waited < 120_000; waited += 1000) await clock.advance(1000, rest)
      look()
    },
    pass: async (ms) => {
      for (let waited = 0; waited < ms; waited += 500) await clock.advance(Math.min(500, ms - waited), rest)
    },
    whole: () => texts.join('\n\n'),
    ledger: () => written,
  }

  /** The reply as the present process knows it. */
  function growing(): Reply {
    const parts = texts.map((words, index): Part => {
      const isOpen = index === texts.length - 1
      const part = { ...text(words), id: `prt_${index}` }
      if (!isOpen) return part
      const open = { ...part, status: 'open', text: words.slice(unheard), ...(unheard > 0 && { holes: [0] }) } as const
      return type ? { ...open, type } : open
    })
    return replyWith(parts)
  }

  function look(): void {
    const screen = fake
      .screen()
      .map((message) => message.text)
      .join('\n\n')
    if (screens.at(-1) !== screen) screens.push(screen)
  }

  function begin() {
    let isDead = false
    let steps = Number.POSITIVE_INFINITY
    let isFirst = true
    /** Nothing that a dead process does happens. */
    const step = async (): Promise<void> => {
      if (--steps < 0) isDead = true
      if (isDead) await new Promise(() => {})
    }
    const alive =
      <Given extends readonly unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
      async (...given: Given): Promise<Result> => {
        await step()
        const result = await call(...given).finally(look)
        await step()
        return result
      }
    const withSteps = <Port extends object>(port: Port): Port =>
      new Proxy(port, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name)
          if (name === 'stream' && typeof value === 'object' && value !== null) return withSteps(value)
          if (typeof value !== 'function' || name === 'measure') return value
          return alive(async (...given: readonly unknown[]) => await Reflect.apply(value, target, given))
        },
      })
    const store: LedgerStore = {
      read: alive(memory.read),
      write: alive(async (key, words) => {
        written = words
        await memory.write(key, words)
      }),
    }
    const sink = createSink({
      ...{ port: withSteps(fake.port), render: fakeRender, chat: { id: 'chat' }, store },
      clock: { now: clock.now, after: (ms, run) => clock.after(ms, () => isDead || run()) },
      secret: (length) => `${++secrets}`.padStart(length, 'x'),
      ...sinkOptions,
    })
    return {
      show: (reply: Reply): void => {
        if (isDead) return
        const type = isFirst ? 'replyStarted' : 'phaseChanged'
        isFirst = false
        const method = sink[type] as ((observation: unknown) => unknown) | undefined
        method?.({ type, reply } satisfies Pick<Observation, 'type' | 'reply'>)
      },
      die: () => {
        isDead = true
      },
      dieAfter: (count: number) => {
        steps = count
      },
      stop: async () => {
        const stopping = sink.stop()
        let isStopped = false
        void stopping.then(() => {
          isStopped = true
        })
        await rest()
        for (let waited = 0; !isStopped && !isDead && waited < 10_000; waited += 1000) await clock.advance(1000, rest)
        isDead = true
      },
    }
  }
}
