import { expect, test } from 'vitest'
import { createHeirs, type Heirs } from './heirs.ts'

const quiet = { statusAfterMs: 600_000 } as const
const shown = ({ fake }: Heirs) => fake.screen().map((message) => message.text)

test.each(['killed', 'stopped'] as const)('after its process was %s, a text grows on below a mark', async (how) => {
  const heirs = createHeirs({ sink: { policy: quiet } })
  await heirs.write('The first words of the answer,')
  await heirs.pass(3000)
  heirs.writeUnheard(' some that are missed,')
  await heirs.replace(how)
  await heirs.pass(3000)
  expect(shown(heirs)).toEqual(['The first words of the answer,'])
  await heirs.write(' and more')
  await heirs.pass(3000)
  expect(shown(heirs)).toEqual(['The first words of the answer, … and more'])
  await heirs.replace(how)
  await heirs.write(' and the rest.')
  await heirs.pass(3000)
  expect(shown(heirs)).toEqual(['The first words of the answer, … and more … and the rest.'])
  await heirs.end()
  expect(shown(heirs)).toEqual(['The first words of the answer, some that are missed, and more and the rest.'])
})

test.each([20, 30])(
  'what the next process has heard of a text before is not shown twice: %s characters',
  async (heard) => {
    const heirs = createHeirs({ sink: { policy: quiet } })
    const words = 'The first words of the answer, which the next process has heard the end of'
    await heirs.write(words)
    await heirs.pass(3000)
    await heirs.replace('killed', heard)
    await heirs.pass(3000)
    expect(shown(heirs)).toEqual([words])
    await heirs.write(' and goes on with')
    await heirs.pass(3000)
    expect(shown(heirs)).toEqual([`${words} and goes on with`])
  },
)

test('a text that was cut over several messages grows on in the last one', async () => {
  const heirs = createHeirs({ fake: { limits: { maxLength: 60 } }, sink: { policy: quiet } })
  await heirs.write('One two three four five six seven eight nine ten eleven twelve thirteen fourteen')
  await heirs.pass(6000)
  const before = shown(heirs)
  expect(before).toHaveLength(2)
  await heirs.replace('killed')
  await heirs.write(' fifteen')
  await heirs.pass(6000)
  expect(shown(heirs)).toEqual([before[0], `${before[1]} … fifteen`])
  await heirs.end()
  expect(shown(heirs).join(' ')).toBe(heirs.whole())
})

test('a text behind a complete one grows on', async () => {
  const heirs = createHeirs({ sink: { policy: quiet } })
  await heirs.write('I look at it.')
  await heirs.endPart()
  await heirs.write('It is a long text, which')
  await heirs.pass(3000)
  await heirs.replace('killed')
  await heirs.write(' goes on')
  await heirs.pass(3000)
  expect(shown(heirs)).toEqual(['I look at it.\n\nIt is a long text, which … goes on'])
})

test('a text that was not shown before begins with the mark', async () => {
  const heirs = createHeirs({ sink: { policy: quiet } })
  heirs.writeUnheard('Nobody heard this,')
  await heirs.replace('killed')
  await heirs.write(' but this, which is long enough to show.')
  await heirs.pass(3000)
  expect(shown(heirs)).toEqual(['… but this, which is long enough to show.'])
})

test('an edit that may have been made before its process died is not taken back', async () => {
  const heirs = createHeirs({ sink: { policy: quiet } })
  await heirs.write('The first words of the answer,')
  await heirs.pass(3000)
  // The write before the edit, the edit, and then no more.
  heirs.dieAfter(4)
  await heirs.write(' with an edit in flight,')
  await heirs.pass(3000)
  expect(shown(heirs)).toEqual(['The first words of the answer, with an edit in flight,'])
  await heirs.replace('killed')
  await heirs.write(' and more')
  await heirs.pass(3000)
  expect(shown(heirs)).toEqual(['The first words of the answer, with an edit in flight, … and more'])
})

test('a stream is appended to, and closed with the whole text', async () => {
  const heirs = createHeirs({ fake: { stream: 'append' }, sink: { policy: { ...quiet, delivery: 'native' } } })
  await heirs.write('The first words of the answer,')
  await heirs.pass(3000)
  heirs.writeUnheard(' some that are missed,')
  await heirs.replace('killed')
  await heirs.write(' and more')
  await heirs.pass(3000)
  expect(shown(heirs)).toEqual(['The first words of the answer, … and more'])
  expect(heirs.fake.calls.map(({ verb }) => verb).filter((verb) => verb !== 'typing')).toEqual(['open', 'append'])
  await heirs.end()
  expect(shown(heirs)).toEqual([heirs.whole()])
})

test('a draft goes on after a stop', async () => {
  const heirs = createHeirs({ fake: { stream: 'preview' }, sink: { policy: { ...quiet, delivery: 'native' } } })
  await heirs.write('The first words of the answer,')
  await heirs.pass(3000)
  expect(heirs.fake.preview()).toBe('The first words of the answer,')
  await heirs.replace('stopped')
  await heirs.write(' and more')
  await heirs.pass(3000)
  expect(heirs.fake.preview()).toBe('The first words of the answer, … and more')
})

test.each([
  ['append', { delivery: 'append' } as const, {}],
  ['sealed', {}, { edits: false }],
  ['final', { delivery: 'final' } as const, {}],
])('where posted text stays (%s), nothing is posted beyond missing words', async (_, policy, limits) => {
  const heirs = createHeirs({ fake: { limits }, sink: { policy: { ...quiet, ...policy, heartbeatMs: 10_000 } } })
  await heirs.write('The first words of the answer.\n\nThen a second paragraph,')
  await heirs.pass(25_000)
  const answered = () => shown(heirs).filter((said) => !said.startsWith('Still working'))
  const before = answered()
  heirs.writeUnheard(' missed.\n\nA third one, also missed,')
  await heirs.replace('killed')
  await heirs.write(' begins.\n\nA fourth one follows it.\n\nAnd a fifth')
  await heirs.pass(25_000)
  expect(answered().filter((said) => /third|fourth|begins/.test(said))).toEqual([])
  expect(answered().slice(0, before.length)).toEqual(before)
  await heirs.end()
  expect(wordsOf(answered().join(' '))).toEqual(wordsOf(heirs.whole()))
})

test('a text that is too long to be kept stays as it is until it is whole', async () => {
  const heirs = createHeirs({
    fake: { limits: { maxLength: 4000, perChat: { calls: 100, perMs: 5000 } } },
    sink: { policy: quiet },
  })
  const long = Array.from({ length: 4000 }, (_, index) => `w${index}`).join(' ')
  await heirs.write(long)
  await heirs.pass(20_000)
  const before = shown(heirs)
  expect(before.length).toBeGreaterThan(4)
  await heirs.replace('killed')
  await heirs.write(' and more')
  await heirs.pass(20_000)
  expect(shown(heirs)).toEqual(before)
  await heirs.end()
  expect(wordsOf(shown(heirs).join(' '))).toEqual(wordsOf(heirs.whole()))
})

test('reasoning grows on, too', async () => {
  const heirs = createHeirs({ sink: { policy: { ...quiet, reasoning: true } }, type: 'reasoning' })
  await heirs.write('First I think about it,')
  await heirs.pass(3000)
  await heirs.replace('killed')
  await heirs.write(' and then again')
  await heirs.pass(3000)
  expect(shown(heirs)).toEqual(['> First I think about it, … and then again'])
})

test('the ledger keeps the text only while it grows', async () => {
  const heirs = createHeirs({ sink: { policy: quiet } })
  await heirs.write('The first words of the answer.')
  await heirs.pass(3000)
  expect(heirs.ledger()).toContain('The first words')
  await heirs.end()
  expect(heirs.ledger()).not.toContain('The first words')
})

/** Whether the words are some of the text, in its order. */
function isInOrder(words: readonly string[], of: readonly string[]): boolean {
  let from = 0
  return words.every((word) => {
    from = of.indexOf(word, from) + 1
    return from > 0
  })
}

function wordsOf(said: string): readonly string[] {
  return said.split(/\s+/).filter((word) => word !== '')
}

/** Returns a generator of numbers below 1, always the same for a seed. */
function randomBy(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32
  }
}

/** Random words, cuts and deaths. Returns what a reader would find wrong. */
async function problemsOf(seed: number): Promise<readonly string[]> {
  const random = randomBy(seed)
  const below = (count: number): number => Math.floor(random() * count)
  const isStreaming = random() < 0.3
  const heirs = createHeirs({
    fake: { stream: 'append', lookUp: 'exact', limits: { maxLength: 80 + below(300) } },
    sink: { policy: { ...quiet, delivery: isStreaming ? 'native' : 'edit' } },
  })
  let count = 0
  /** The numbers of screens before and after a part became whole, in pairs. */
  const wholeFrom: number[] = []
  // Without sentences and paragraphs, at which a text is rather cut. Words then stay in the message in which they were.
  const someWords = (): string => Array.from({ length: 1 + below(12) }, () => `w${count++} `).join('')
  for (let turn = 0; turn < 12; turn++) {
    await heirs.write(someWords())
    await heirs.pass(below(4000))
    if (random() < 0.2) heirs.dieAfter(below(8))
    await heirs.write(someWords())
    await heirs.pass(below(3000))
    if (random() < 0.4) {
      if (random() < 0.7) heirs.writeUnheard(someWords())
      await heirs.replace(random() < 0.5 ? 'killed' : 'stopped')
    }
    // A stream can't take back words that are rather cut at the blank line between two parts.
    if (!isStreaming && random() < 0.1) {
      // One that lives.
      await heirs.replace('killed')
      wholeFrom.push(heirs.screens.length)
      await heirs.endPart()
      await heirs.pass(30_000)
      wholeFrom.push(heirs.screens.length)
    }
  }
  const { length } = heirs.screens
  await heirs.replace('killed')
  await heirs.end()
  const whole = wordsOf(heirs.whole())
  const seen = heirs.screens.map(wordsOf)
  const problems: string[] = []
  /** Whether the messages of a whole text may have another end than before, and are edited one after the other. */
  const isBecomingWhole = (at: number): boolean =>
    at >= length || wholeFrom.some((from, index) => index % 2 === 0 && at >= from && at < (wholeFrom[index + 1] ?? 0))
  const isRight = (words: readonly string[]): boolean =>
    isInOrder(
      words.filter((word) => word !== '…'),
      whole,
    )
  for (const [index, words] of seen.entries()) {
    // Another process may cut the messages elsewhere. They are then edited one after the other.
    const next = [1, 2, 3, 4].map((more) => index + more).filter((at) => !isBecomingWhole(at))
    if (isBecomingWhole(index) || next.length < 4) continue
    const after = next.map((at) => seen[at] ?? [])
    if (!isRight(words) && !after.some(isRight)) problems.push(`screen ${index}: ${words.join(' ')}`)
    if (isRight(words) && !after.some((later) => words.every((word, at) => later[at] === word)))
      problems.push(
        `screen ${index} is lost: ${words.join(' ')} → ${after.map((later) => later.join(' ')).join(' → ')}`,
      )
  }
  if (heirs.fake.calls.some(({ result }) => result === 'rate-limited')) problems.push('a call was rate-limited')
  if (seen.at(-1)?.join(' ') !== whole.join(' '))
    problems.push(`it ends as ${seen.at(-1)?.join(' ')} instead of ${whole.join(' ')}`)
  return problems.map((problem) => `seed ${seed}: ${problem}`)
}

test('whatever happens to its processes, a reader sees a text that only grows, and in the end exactly it', async () => {
  const problems: string[] = []
  for (let seed = 1; seed <= 150 && problems.length < 5; seed++) problems.push(...(await problemsOf(seed)))

  expect(problems).toEqual([])
})

test('a text that another process goes on with keeps the interval of its edits', async () => {
  const limits = { editIntervalMs: 1100, perChat: { calls: 3, perMs: 3300 } }
  const { fake, clock, ...heirs } = createHeirs({ fake: { limits }, sink: { policy: quiet } })
  const calls = () => fake.calls.flatMap(({ verb, at }) => (verb === 'typing' ? [] : [at]))
  const writeUntil = async (isSo: () => boolean): Promise<void> => {
    for (let words = 0; !isSo() && words < 100; words++) {
      await heirs.write(' a')
      await heirs.pass(100)
    }
  }
  await heirs.write('The first words of the answer,')
  // The chat then allows a burst.
  await heirs.pass(5000)
  await writeUntil(() => calls().length === 2)
  await heirs.pass(300)
  await heirs.replace('stopped')
  await writeUntil(() => calls().length === 6)
  const [, first = 0] = calls()
  // An edit of the next process at once would use up the burst, and those after it would be late.
  expect(calls().slice(1)).toEqual([0, 1100, 2200, 3300, 4400].map((ms) => first + ms))
})
