import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LocalRun } from '@reply/core/source'
import { createFastClock } from '@reply/testing/internal'
import { type FakeTelegram, startTelegram } from '@reply/testing/telegram'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { bridgeMetrics } from '../src/events/metrics.ts'
import { type Chats, type StartChats, startChats } from './chats.ts'
import { answer, localAgent, touching } from './local-agent.ts'
import { telegramOn } from './platforms.ts'
import { dripped, type Service, startService } from './transcription-service.ts'
import { missingPrograms, silentNote } from './voice-notes.ts'

const missing = missingPrograms('ffmpeg')
const [ann, group] = [1, -5]
const people = { ann: { id: 1, name: 'Ann' }, bob: { id: 2, name: 'Bob' } }
let folder = ''
let telegram: FakeTelegram
let chats: Chats
let agent: ReturnType<typeof localAgent>
/** Telegram's and the bridge's. */
const clock = createFastClock(5)
/** The runs that wait, by their prompts. */
let held: Map<string, LocalRun>
/** How asks were answered. */
let answers: unknown[]

/** Asks for a permission or a question, waits, or answers, as the prompt says. */
function act(run: LocalRun, text: string): void {
  const reply = (given: unknown): void => {
    answers.push(given)
    setImmediate(() => answer(run, 'As you like.'))
  }
  if (text === 'ask for the colour') {
    const question = { header: 'Colour', question: 'Which colour?', options: [], multiple: false, custom: true }
    return run.ask({ type: 'question', requestID: 'que_1', questions: [question], reply })
  }
  if (text === 'touch it') {
    run.write(touching.call)
    return run.ask({ ...touching.ask, reply })
  }
  if (text.startsWith('wait')) return void held.set(text, run)
  answer(run, `Did: ${text}`)
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reply-voice-test-'))
  held = new Map()
  answers = []
  telegram = await startTelegram({
    token: '42:secret',
    clock,
    chats: [
      { id: ann, type: 'private', title: 'Ann' },
      { id: group, type: 'supergroup', title: 'Shop' },
    ],
  })
  agent = localAgent(act)
  chats = await startChats({ platforms: [telegramOn(telegram)], connectTo: () => agent.connectTo() })
})
afterEach(async () => {
  await chats.close()
  rmSync(folder, { recursive: true })
})

/** A recogniser whose notes are their own text. One that begins with "slow" waits for `release`. Counts its starts. */
const recogniser = () => ({
  command: [
    '/bin/sh',
    '-c',
    'echo ran >> "$2/starts"; while grep -q ^slow "$1" && [ ! -e "$2/released" ]; do sleep 0.02; done; cat "$1"',
    ...['sh', '{file}', folder],
  ],
  convert: false,
})
const release = (): void => writeFileSync(join(folder, 'released'), '')
const starts = (): number => readFileSync(join(folder, 'starts'), 'utf8').split('\n').length - 1
const whenBegun = async (count = 1): Promise<void> => {
  const begun = (): number => {
    try {
      return starts()
    } catch {
      return 0
    }
  }
  await expect.poll(begun).toBe(count)
}
const start = async (more: StartChats = {}): Promise<void> =>
  await chats.start({ clock, transcribe: recogniser(), ...more })

/** Sends a voice note, as Telegram's clients do. Its bytes are what the recogniser prints. */
function speak(
  words: string | Uint8Array,
  {
    chat = ann,
    from = people.ann,
    caption = '',
    ...more
  }: { chat?: number; from?: typeof people.ann; caption?: string; replyTo?: number } = {},
): number {
  const file = { kind: 'voice', bytes: Buffer.from(words), mime: 'audio/ogg' } as const
  return telegram.say(chat, caption, { from, file, ...more })
}
const said = (chat = ann): readonly string[] =>
  telegram.screen(chat).flatMap(({ from, text }) => (from === 'bot' ? [text] : []))
const says = async (words: string, chat = ann): Promise<void> =>
  await expect.poll(() => said(chat).some((text) => text.includes(words))).toBe(true)
const quoteOf = (words: string, chat = ann): number | undefined =>
  telegram.screen(chat).find(({ from, text }) => from === 'bot' && text.includes('Understood') && text.includes(words))
    ?.messageId

/** Begins a run at the desk that asks, and says "yes" in the chat. Resolves with the run once the chat says that this answers nothing. */
async function answerDeskBySpeaking(): Promise<LocalRun> {
  await start()
  telegram.say(ann, 'Hi')
  await says('Did: Hi')
  const run = agent.desk('ses_1', 'Go')
  run.write(touching.call)
  run.ask({ ...touching.ask, reply: (given) => void answers.push(given) })
  await says('touch a')
  speak('yes')
  await says('never answers a request')
  return run
}

/** Begins a run that goes on until the returned function is called. */
async function busy(chat = ann, from = people.ann): Promise<() => void> {
  telegram.say(chat, chat === group ? '@fake_bot wait' : 'wait', { from })
  await expect.poll(() => held.has('wait')).toBe(true)
  return () => {
    const run = held.get('wait')
    if (run) answer(run, 'Waited.')
  }
}

describe('a voice note', () => {
  test('becomes the prompt, and the chat quotes what was understood', async () => {
    await start()
    speak('add a test\nfor *the* parser')
    await says('Did: add a test')
    expect(agent.heard).toEqual(['add a test\nfor *the* parser'])
    expect(said()[0]).toMatch(/Understood:\s*>? ?add a test\s+>? ?for \*the\* parser$/)
    expect(said()).toHaveLength(2)
    expect(starts()).toBe(1)
  })

  test('with a caption becomes both, and a song or a document with audio is heard, too', async () => {
    await start()
    speak('the second bug', { caption: 'Fix this:' })
    await says('Did: Fix this:')
    const bytes = new TextEncoder().encode('from a document')
    telegram.say(ann, '', { from: people.ann, file: { kind: 'document', bytes, mime: 'audio/mpeg', name: 'a.mp3' } })
    await says('Did: from a document')
    expect(agent.heard).toEqual(['Fix this:\nthe second bug', 'from a document'])
  })

  test('is counted in the metrics with its result and its time, and nothing that was said', async () => {
    const { observe, text } = bridgeMetrics()
    await start({ observers: [observe] })
    speak('a secret plan')
    await says('Did: a secret plan')
    speak('')
    await says('could not be read')
    const shown = await text()
    expect(shown).toContain('reply_bridge_transcriptions_total{channel="telegram",result="understood"} 1')
    expect(shown).toContain('reply_bridge_transcriptions_total{channel="telegram",result="unreadable"} 1')
    expect(shown).toContain('reply_bridge_transcription_seconds_count{channel="telegram",result="understood"} 1')
    expect(shown).not.toContain('secret plan')
  })

  test('without a transcriber reaches nothing, and its author is told how to set one up', async () => {
    await chats.start({ clock })
    speak('hello')
    await says('whisper-cli')
    telegram.say(ann, 'typed')
    await says('Did: typed')
    expect(agent.heard).toEqual(['typed'])
  })

  test('of a stranger is not even downloaded', async () => {
    await start()
    speak('hello', { from: { id: 3, name: 'Eve' } })
    await says('not on the list')
    expect(telegram.calls.some(({ method }) => method === 'getFile')).toBe(false)
  })

  test('never is a command, whatever its transcriber prints', async () => {
    await start()
    for (const words of ['/stop', '\u001b[1m\u200b /deploy prod', '/allowed']) speak(words)
    await says('Did: allowed')
    expect(agent.heard).toEqual(['stop', 'deploy prod', 'allowed'])
    speak('prod', { caption: '/deploy' })
    await says('a command can’t have a voice note')
    expect(agent.heard).toHaveLength(3)
  })

  test('that can’t be understood is refused in a sentence, and nothing of it reaches the agent', async () => {
    await start({
      transcribe: { command: ['/bin/sh', '-c', 'sh "$1"', 'sh'], convert: false, timeoutMs: 10_000 },
      router: { maxFileBytes: 1000, maxTextLength: 100 },
    })
    const notes: readonly (readonly [script: string, sentence: string])[] = [
      [':', 'no words were understood'],
      ['exit 3', 'the transcriber failed'],
      ['yes', 'far more text'],
      ['sleep 100', 'took too long'],
      ['', 'could not be read'],
      ['#'.repeat(1001), 'too large'],
      ['printf "%0101d" 7', 'The limit is 100'],
    ]
    for (const [script, sentence] of notes) {
      speak(script, { caption: 'with a caption' })
      await says(sentence)
    }
    telegram.say(ann, 'typed')
    await says('Did: typed')
    expect(agent.heard).toEqual(['typed'])
    expect(chats.errors.map(({ message }) => message).join('\n')).toMatch(
      /note of Ann was not transcribed \(failed\): .*3/,
    )
  })

  describe.skipIf(missing !== undefined)(`that is damaged${missing ? ` (${missing})` : ''}`, () => {
    test('is refused in a sentence below it, and what follows runs', { timeout: 60_000 }, async () => {
      const { convert: _, ...withConverter } = recogniser()
      await start({ transcribe: withConverter })
      const note = silentNote(10)
      // Cut within its first page, without its first page, with another page's bytes, and no audio at all.
      const [head, garbage] = [note.slice(0, 40), new Uint8Array(5000).fill(7)]
      const damaged = [
        head,
        note.slice(60, 3000),
        Buffer.concat([head, garbage]),
        garbage,
        Buffer.from('OggS'.repeat(500)),
      ]
      const sentence =
        'Nothing was run: the voice note could not be read. It may be damaged. Record it again, or type it.'
      for (const [index, bytes] of damaged.entries()) {
        const note = speak(bytes, { caption: 'with a caption' })
        await expect.poll(said, { timeout: 30_000 }).toHaveLength(index + 1)
        expect(telegram.screen(ann).at(-1)).toMatchObject({ text: sentence, replyTo: note })
      }
      telegram.say(ann, 'typed')
      await says('Did: typed')
      expect([agent.heard, existsSync(join(folder, 'starts'))]).toEqual([['typed'], false])
      expect(chats.errors).toHaveLength(damaged.length)
    })
  })

  describe.skipIf(missing !== undefined)(`of an hour${missing ? ` (${missing})` : ''}`, () => {
    test.each([
      ['by its own length', false, '1h 00m long, and the limit is 10m 00s'],
      ['by what the converter makes of it, if it claims to last a second', true, 'longer than 10m 00s'],
    ])('is refused in a sentence with the limit, %s', { timeout: 60_000 }, async (_, isLie, length) => {
      const { convert: __, ...withConverter } = recogniser()
      await start({ transcribe: withConverter })
      const hour = Buffer.from(silentNote(3600))
      if (isLie) hour.writeBigInt64LE(48_000n, hour.lastIndexOf('OggS') + 6)
      speak(hour)
      await expect.poll(said, { timeout: 30_000 }).toHaveLength(1)
      telegram.say(ann, 'typed')
      await says('Did: typed')
      const sentence = `Nothing was run: the voice note is ${length}. Send a shorter one, or type it.`
      expect(said()).toEqual([sentence, 'Did: typed'])
      expect([agent.heard, existsSync(join(folder, 'starts')), chats.errors]).toEqual([['typed'], false, []])
    })
  })

  test('that hangs keeps its own chat in order, and no other one waits', async () => {
    await start()
    speak('slow words')
    await whenBegun()
    telegram.say(ann, 'after it')
    telegram.say(group, '@fake_bot elsewhere', { from: people.bob })
    await says('Did: elsewhere', group)
    speak('also elsewhere', { chat: group, from: people.bob, caption: '@fake_bot' })
    await says('also elsewhere', group)
    expect(agent.heard).not.toContain('after it')
    release()
    await says('Did: after it')
    expect(agent.heard.slice(-2)).toEqual(['slow words', 'after it'])
  })
})

describe('a transcription service', () => {
  let service: Service
  /** What the service does, by the words of the note. */
  const acts: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
    'the key': (response) => response.writeHead(401).end('{"error":{"message":"Incorrect key."}}'),
    'the audio': (response) => response.writeHead(400).end('{"error":{"message":"Invalid file format."}}'),
    'no time': (response) => response.writeHead(429).end(),
    'an error': (response) => response.writeHead(500).end('<h1>Internal Server Error</h1>'),
    'a page': (response) => response.end('<html>Welcome</html>'),
    'no text': (response) => response.end('{"text":null,"error":"out of memory"}'),
    'bytes alone': (response) => response.end(new Uint8Array(1000).fill(0xff)),
    'nothing seen': (response) => response.end('{"text":"\\u0000\\u200b\\u001b[2J [BLANK_AUDIO]"}'),
    'a flood': (response) => response.end(`{"text":"${'a'.repeat(300_000)}"}`),
    'a cut': (response) => response.write('{"text":"half', () => response.destroy()),
    silence: () => {},
    drops: dripped,
  }
  beforeEach(async () => {
    service = await startService(({ body }, response) => {
      const [, act] = Object.entries(acts).find(([words]) => body.includes(words)) ?? []
      if (act) act(response)
      else response.end('{"text":"Add a test."}')
    })
  })
  afterEach(async () => await service.stop())
  const startWith = async (timeoutMs: number): Promise<void> =>
    await start({ transcribe: { url: service.url, model: 'whisper-1', timeoutMs } })
  const slow = ['silence', 'drops']
  /** Enough for the request to be made on a busy machine. */
  const hangingMs = 10_000

  test('that fails or answers with garbage is told in a sentence below the note, and nothing reaches the agent', async () => {
    await startWith(60_000)
    const sentences: Readonly<Record<string, string>> = {
      'the key': 'the transcription service refused the bridge. Tell its operator, and type it instead.',
      'the audio': 'the voice note could not be read. It may be damaged. Record it again, or type it.',
      'no time': 'the transcription service has no time now. Send the voice note again later, or type it.',
      'an error': 'the transcription service has no time now. Send the voice note again later, or type it.',
      'a page': 'the transcriber failed. The bridge’s log tells the operator why. Type it instead.',
      'no text': 'the transcriber failed. The bridge’s log tells the operator why. Type it instead.',
      'bytes alone': 'the transcriber failed. The bridge’s log tells the operator why. Type it instead.',
      'nothing seen': 'no words were understood in the voice note. Record it again, or type it.',
      'a flood': 'the transcriber returned far more text than a voice note has. Type it instead.',
      'a cut': 'the transcription service has no time now. Send the voice note again later, or type it.',
    }
    expect([...Object.keys(sentences), ...slow]).toEqual(Object.keys(acts))
    const told: unknown[] = []
    const expected: unknown[] = []
    for (const [words, sentence] of Object.entries(sentences)) {
      expected.push({ text: `Nothing was run: ${sentence}`, replyTo: speak(words, { caption: 'Fix this:' }) })
      await expect.poll(() => said().length, { timeout: 30_000 }).toBe(expected.length)
      const { text, replyTo } = telegram.screen(ann).at(-1) ?? {}
      told.push({ text, replyTo })
    }
    expect(told).toEqual(expected)
    expect([agent.heard, service.requests.length]).toEqual([[], expected.length])
    // What people wrote stays as it was, so that they can send it again.
    expect(telegram.screen(ann).filter(({ text }) => text === 'Fix this:')).toHaveLength(expected.length)
    speak('fine again', { caption: 'Fix this:' })
    await says('Did: Fix this:\nAdd a test.')
    expect(agent.heard).toEqual(['Fix this:\nAdd a test.'])
  })

  test.each(slow)('that hangs is told in a sentence below the note: %s', async (words) => {
    await startWith(hangingMs)
    const note = speak(words, { caption: 'Fix this:' })
    await says('took too long')
    expect(telegram.screen(ann).at(-1)).toMatchObject({
      text: 'Nothing was run: transcribing the voice note took too long. Send a shorter one, or type it.',
      replyTo: note,
    })
    expect([agent.heard, service.requests.length]).toEqual([[], 1])
  })

  test('that hangs keeps what is typed after the note, which then runs', async () => {
    await startWith(hangingMs)
    speak('silence')
    await expect.poll(() => service.requests.length).toBe(1)
    telegram.say(ann, 'typed meanwhile')
    await says('took too long')
    await says('Did: typed meanwhile')
    expect(agent.heard).toEqual(['typed meanwhile'])
  })
})

/** Resolves when no prompt waits in Ann's chat. */
async function whenQueueIsEmpty(): Promise<void> {
  const isEmpty = (): boolean => said().includes('Nothing is waiting.')
  await expect.poll(() => isEmpty() || !telegram.say(ann, '/queue')).toBe(true)
}

describe('a voice note never answers', () => {
  test.each(['yes', '1', 'always'])('a permission: “%s”', async (words) => {
    await start()
    telegram.say(ann, 'touch it')
    await says('touch a')
    speak(words)
    await says('never answers a request')
    expect(quoteOf(words)).toBeDefined()
    // Nor as a reply to the request, nor with a caption.
    const request = telegram.screen(ann).find(({ text }) => text.includes('touch a'))?.messageId ?? 0
    speak(words, { replyTo: request })
    speak('please', { caption: words })
    await expect.poll(() => starts()).toBe(3)
    await says('please')
    expect(answers).toEqual([])
    telegram.say(ann, '/stop')
    await says(`Did: ${words}\nplease`)
    expect(answers).toEqual([{ type: 'canceled' }])
    expect(agent.heard).toEqual(['touch it', words, words, `${words}\nplease`])
  })

  test('a question, so that what was misheard decides nothing', async () => {
    await start()
    telegram.say(ann, 'ask for the colour')
    await says('Which colour?')
    speak('blue')
    await says('never answers a request')
    expect(answers).toEqual([])
    telegram.say(ann, 'Red')
    await says('Did: blue')
    expect(answers).toEqual([{ type: 'answered', answers: [['Red']] }])
  })

  test('a request of the desk: it waits until that is answered, and then runs', async () => {
    const run = await answerDeskBySpeaking()
    speak('behind it')
    await expect.poll(() => quoteOf('behind it')).toBeDefined()
    expect([answers, agent.heard]).toEqual([[], ['Hi']])
    const request = telegram.screen(ann).find(({ text }) => text.includes('touch a'))?.messageId ?? 0
    await telegram.press(ann, request, 'Allow once').settled
    await expect.poll(() => answers).toMatchObject([{ type: 'once' }])
    run.end({ type: 'completed' })
    await says('Did: behind it')
    expect(agent.heard).toEqual(['Hi', 'yes', 'behind it'])
  })

  test('a request of the desk, nor does the text that a person writes in its place, which need not wait', async () => {
    const run = await answerDeskBySpeaking()
    telegram.say(ann, 'I mean no', { replyTo: quoteOf('yes') ?? 0 })
    await says('Changed number 1.')
    // The agent has it, and takes it after the desk's run.
    await whenQueueIsEmpty()
    run.closeAsk('per_1')
    run.end({ type: 'completed' })
    await says('Did: I mean no')
    expect([answers, agent.heard]).toEqual([[], ['Hi', 'I mean no']])
  })

  test('a permission by the text that a person writes in its place', async () => {
    await start()
    telegram.say(ann, 'touch it')
    await says('touch a')
    speak('hello')
    await says('never answers a request')
    telegram.say(ann, 'yes', { replyTo: quoteOf('hello') ?? 0 })
    await says('Changed number 1.')
    expect(answers).toEqual([])
  })
})

describe('while it waits, a voice note', () => {
  test('is changed by /edit, and by a reply to its quotation', async () => {
    await start()
    const done = await busy()
    speak('at the parcel')
    await says('reply to this message with the text')
    telegram.say(ann, '/edit a test for the parcel')
    await says('Changed number 1.')
    telegram.say(ann, 'Add a test for the parser', { replyTo: quoteOf('parcel') ?? 0 })
    await expect.poll(() => said().filter((text) => text === 'Changed number 1.')).toHaveLength(2)
    done()
    await says('Did: Add a test for the parser')
    expect(agent.heard).toEqual(['wait', 'Add a test for the parser'])
  })

  test('can be changed by its author and an admin alone', async () => {
    await start()
    const done = await busy(group)
    speak('from Ann', { chat: group, caption: '@fake_bot' })
    await says('from Ann', group)
    const quote = quoteOf('from Ann', group) ?? 0
    telegram.say(group, 'from Bob', { from: people.bob, replyTo: quote })
    await says('That belongs to Ann.', group)
    telegram.say(group, '/edit from Bob', { from: people.bob })
    await says('None of your prompts is waiting', group)
    done()
    await says('Did: ', group)
    expect(agent.heard).toEqual(['wait', 'from Ann'])
  })

  test('is replaced before it is transcribed, and what the transcriber prints then is dropped', async () => {
    await start()
    speak('slow words')
    await whenBegun()
    telegram.say(ann, '/edit typed words')
    await says('Did: typed words')
    release()
    telegram.say(ann, 'next')
    await says('Did: next')
    expect(agent.heard).toEqual(['typed words', 'next'])
  })

  test.each(['/stop', '/queue drop 1'])('and is transcribed, is canceled by %s', async (command) => {
    await start()
    speak('slow words')
    await whenBegun()
    telegram.say(ann, command)
    await says(command === '/stop' ? 'Stopped.' : 'Removed number 1')
    telegram.say(ann, 'next')
    await says('Did: next')
    expect(agent.heard).toEqual(['next'])
  })

  test('is transcribed again by the next process, and runs once', async () => {
    await start()
    speak('slow words')
    await whenBegun()
    await chats.stop()
    await start()
    await whenBegun(2)
    release()
    await says('Did: slow words')
    await chats.stop()
    await start()
    telegram.say(ann, 'next')
    await says('Did: next')
    expect(agent.heard).toEqual(['slow words', 'next'])
    expect(said().filter((text) => text.includes('Understood'))).toHaveLength(1)
  })

  test('and the messages behind it join the running turn in their order, if messages steer', async () => {
    let current: LocalRun | undefined
    agent = localAgent(
      (run) => {
        const before = current
        current = run
        setImmediate(() => before?.end({ type: 'completed' }))
      },
      clock,
      true,
    )
    await start({ router: { busy: 'steer' } })
    telegram.say(ann, 'wait')
    await expect.poll(() => current).toBeDefined()
    speak('slow words')
    await whenBegun()
    speak('slow too')
    telegram.say(ann, 'typed')
    speak('and spoken')
    telegram.say(ann, '/queue')
    await says('4. voice')
    expect(agent.heard).toEqual(['wait'])
    release()
    await expect.poll(() => agent.heard).toEqual(['wait', 'slow words', 'slow too', 'typed', 'and spoken'])
    if (current) answer(current, 'All of it.')
    await says('All of it.')
    const quoted = said().flatMap((text) => /(?<=Understood:\s*>? ?)(?:\w+ \w+)/.exec(text) ?? [])
    expect(quoted).toEqual(['slow words', 'slow too', 'and spoken'])
  })

  test('interrupts only once it is understood, if messages interrupt', async () => {
    await start({ router: { busy: 'interrupt' } })
    await busy()
    speak('slow words')
    await whenBegun()
    telegram.say(ann, '/status')
    await says('⏳ Running')
    release()
    await says('Did: slow words')
    expect(agent.heard).toEqual(['wait', 'slow words'])
  })
})

describe('a recording as a document of an unknown type, with a name like that of audio', () => {
  /** Sends it as clients do that don't know the type. */
  const attach = (words: string, caption = ''): void => {
    const file = {
      kind: 'document',
      bytes: Buffer.from(words),
      mime: 'application/octet-stream',
      name: 'note.OPUS',
    } as const
    telegram.say(ann, caption, { from: people.ann, file })
  }

  test('is heard as Ogg, and its caption answers no question', async () => {
    await start({
      transcribe: { ...recogniser(), command: ['/bin/sh', '-c', 'cat "$1"; basename "$1"', 'sh', '{file}'] },
    })
    telegram.say(ann, 'ask for the colour')
    await says('Which colour?')
    attach('blue', 'Red')
    await says('never answers a request')
    expect(answers).toEqual([])
    telegram.say(ann, 'Green')
    await says('Did: Red\nbluevoice.ogg')
    expect(answers).toEqual([{ type: 'answered', answers: [['Green']] }])
  })

  test('is canceled by /stop and replaced by /edit while it is transcribed', async () => {
    await start()
    attach('slow words')
    await whenBegun()
    telegram.say(ann, '/stop')
    await says('Stopped.')
    attach('slow too')
    await whenBegun(2)
    telegram.say(ann, '/edit typed words')
    await says('Did: typed words')
    expect(agent.heard).toEqual(['typed words'])
  })

  test('is understood before it steers, also with /steer', async () => {
    agent = localAgent(
      (run, text) => void (text === 'wait' ? held.set(text, run) : answer(run, 'Joined.')),
      clock,
      true,
    )
    await start({ router: { busy: 'steer' } })
    await busy()
    attach('slow words')
    await whenBegun()
    attach('slow too', '/steer and')
    telegram.say(ann, '/queue')
    await says('1. note')
    expect(agent.heard).toEqual(['wait'])
    release()
    await expect.poll(() => agent.heard.slice(1).join()).toMatch(/^slow words/)
  })

  test('reaches nothing without a transcriber', async () => {
    await chats.start({ clock })
    attach('blue')
    await says('whisper-cli')
    expect(agent.heard).toEqual([])
  })
})
