import type { Part, ReplyFile, ToolPart } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import type { ReadFile } from '../src/deliver/file-loader.ts'
import { layout } from '../src/layout/layout.ts'
import { emptyLedger } from '../src/ledger/ledger.ts'
import type { ChannelPort } from '../src/port/port.ts'
import { FileRefusal, PortError } from '../src/port/port-error.ts'
import { createFake, fakeRender } from '../src/testing/fake.ts'
import { type FakeFault, fakeLimits } from '../src/testing/fake-options.ts'
import { texts } from '../src/texts.ts'
import { filesLeftNote } from '../src/view/attachment.ts'
import { italic } from '../src/view/format.ts'
import { createKilledSinks } from './killed-sinks.ts'
import { call, replyWith, settledWith, text } from './make.ts'
import { createScene, ledgerOf, rest, type Scene, type SceneOptions } from './scene.ts'
import { beginning } from './timeline.ts'

type FilePart = Extract<Part, { type: 'file' }>

/** A file of the agent. */
function filePart(name: string, more: Partial<FilePart> = {}): FilePart {
  const place = { id: `prt_${name}`, messageID: 'msg_2', raw: undefined, status: 'sealed' } as const
  return { ...place, type: 'file', mime: 'text/plain', url: `/project/${name}`, filename: name, ...more }
}

const picture = (name: string): FilePart => filePart(name, { mime: 'image/png' })

/** A call that returned files. */
function returning(tool: string, ...files: readonly Part[]): ToolPart {
  const attachments = files
    .filter((part): part is FilePart => part.type === 'file')
    .map(({ id, mime, url, filename }): ReplyFile => ({ id, mime, url, filename }))
  return call(tool, { status: 'completed', attachments })
}

/** Reads a file as its own name. */
const readName: ReadFile = async (file) => Buffer.from(file.filename ?? '')

function sceneWith({ sink, ...more }: SceneOptions = {}): Scene {
  return createScene({ ...more, sink: { readFile: readName, ...sink } })
}

/** The messages of a chat: texts, and in brackets the names of files. */
function seenIn({ fake }: Scene): readonly string[] {
  return fake
    .screen()
    .map(({ text: said, files }) => (files.length > 0 ? `[${files.map(({ name }) => name).join(' ')}]` : said))
}

describe('the files of a reply', () => {
  test('stand between the texts, in the order of the answer, with their bytes, types and captions', async () => {
    const scene = sceneWith()
    scene.show(settledWith([text('First.'), filePart('a.md'), text('Then.'), picture('b.png')]))
    const delivery = await scene.end()
    expect(seenIn(scene)).toEqual(['First.', '[a.md]', 'Then.', '[b.png]'])
    expect(scene.fake.screen()[1]?.files).toEqual([
      { name: 'a.md', mime: 'text/plain', bytes: Buffer.from('a.md'), caption: 'a.md' },
    ])
    expect(scene.fake.screen()[3]?.files[0]?.mime).toBe('image/png')
    expect(scene.fake.screen().map(({ isSilent }) => isSilent)).toEqual([true, true, false, true])
    expect(delivery).toMatchObject({ shown: 4, undelivered: [], doubtful: 0 })
  })

  test('are posted while the agent works, and the text goes on below them', async () => {
    const scene = sceneWith()
    const first = { ...text('Look at this.'), id: 'prt_1' }
    scene.show(replyWith([first, picture('a.png')]))
    await scene.pass(3000)
    expect(seenIn(scene).slice(0, 2)).toEqual(['Look at this.', '[a.png]'])
    scene.show(settledWith([first, picture('a.png'), text('Done.')]))
    await scene.end()
    expect(seenIn(scene)).toEqual(['Look at this.', '[a.png]', 'Done.'])
  })

  test('of one kind that follow each other are albums, of as many as the platform takes', async () => {
    const scene = sceneWith()
    const pictures = ['1.png', '2.png', '3.png', '4.png', '5.png'].map(picture)
    scene.show(settledWith([text('All.'), ...pictures, filePart('a.md'), filePart('b.md')]))
    await scene.end()
    expect(seenIn(scene)).toEqual(['All.', '[1.png 2.png 3.png 4.png]', '[5.png]', '[a.md b.md]'])
  })

  test('are below the answer with `final`, and not before its end', async () => {
    const scene = sceneWith({ sink: { policy: { delivery: 'final' } } })
    scene.show(replyWith([text('One.'), picture('a.png'), text('Two.')]))
    await scene.pass(3000)
    expect(scene.fake.screen().flatMap(({ files }) => files)).toEqual([])
    scene.show(settledWith([text('One.'), picture('a.png'), text('Two.')]))
    await scene.end()
    expect(seenIn(scene)).toEqual(['One.\n\nTwo.', '[a.png]'])
  })

  test('have the caption that the agent wrote, in one line', async () => {
    const scene = sceneWith()
    scene.show(settledWith([text('A.'), filePart('a.md', { caption: 'The\nreport \u202e.' })]))
    await scene.end()
    expect(scene.fake.screen()[1]).toMatchObject({
      text: expect.stringMatching(/^The report [^\u202e]*202e\W?\.$/i),
      files: [{ name: 'a.md' }],
    })
  })

  test('may be the whole answer', async () => {
    const scene = sceneWith()
    scene.show(settledWith([filePart('a.md')]))
    await scene.end()
    expect(seenIn(scene)).toEqual(['[a.md]'])
  })

  test('are posted without edits, too, each in its place', async () => {
    const scene = sceneWith({ fake: { limits: { edits: false }, lacks: ['edit', 'remove'] } })
    const first = { ...text('First.'), id: 'prt_1' }
    scene.show(replyWith([first, filePart('a.md'), { ...text('Th', { status: 'open' }), id: 'prt_2' }]))
    await scene.pass(3000)
    scene.show(settledWith([first, filePart('a.md'), { ...text('Then.'), id: 'prt_2' }]))
    await scene.end()
    expect(seenIn(scene)).toEqual(['First.', '[a.md]', 'Then.'])
  })
})

describe('the policy `files`', () => {
  const parts = [
    text('Text.'),
    returning('read', picture('looked.png')),
    returning('browser_screenshot', picture('shot.png')),
    returning('reply_send_file', filePart('sent.md')),
    picture('own.png'),
  ]
  test.each([
    ['all', 'normal', ['[shot.png]', '[sent.md]', '[own.png]']],
    ['all', 'quiet', ['[sent.md]', '[own.png]']],
    ['sent', 'verbose', ['[sent.md]', '[own.png]']],
    ['none', 'normal', []],
  ] as const)('%s with %s', async (files, verbosity, shown) => {
    const scene = sceneWith({ sink: { policy: { files, verbosity, delivery: 'final' } } })
    scene.show(settledWith(parts))
    await scene.end()
    expect(seenIn(scene).filter((one) => one.startsWith('['))).toEqual(shown)
  })

  test('files of a sub-agent are posted once, also if its call is unknown or its id is there twice', async () => {
    const scene = sceneWith()
    const child = (sessionID: string, name: string) => ({
      ...replyWith([filePart(name)]),
      sessionID,
    })
    const task = { ...call('task', { status: 'completed' }), callID: 'call_twice' }
    const children = [
      { callID: 'call_twice', background: false, reply: child('ses_2', 'a.md') },
      { background: false, reply: child('ses_3', 'b.png') },
    ]
    scene.show(settledWith([text('A.'), task, text('B.'), { ...task, id: 'prt_again' }, text('C.')], { children }))
    const { undelivered } = await scene.end()
    expect(seenIn(scene)).toEqual(['A.', '[a.md]', expect.stringContaining('C.'), '[b-png.txt]'])
    expect(undelivered).toEqual([])
  })

  test('files that a sub-agent sent stand where it was started', async () => {
    const scene = sceneWith()
    const reply = {
      ...replyWith([picture('seen.png'), returning('send_file', filePart('sub.md'))]),
      sessionID: 'ses_2',
    }
    const task = { ...call('task', { status: 'completed' }), callID: 'call_task' }
    const read: string[] = []
    const readFile: ReadFile = async (file, { sessionID }) => {
      read.push(sessionID)
      return await readName(file, { sessionID, directory: '', maxBytes: 0, signal: new AbortController().signal })
    }
    const other = sceneWith({ sink: { readFile } })
    for (const one of [scene, other])
      one.show(
        settledWith([text('A.'), task, text('B.')], { children: [{ callID: 'call_task', background: false, reply }] }),
      )
    await Promise.all([scene.end(), other.end()])
    expect(seenIn(scene)).toEqual(['A.', '[seen.png]', '[sub.md]', 'B.'])
    expect(read).toEqual(['ses_2', 'ses_2'])
  })
})

describe('a file that can not be sent', () => {
  const gone: ReadFile = async (file) => {
    if (file.filename === 'gone.md') throw new FileRefusal('refused', 'The file gone.md is not there any more.')
    return await readName(file, { sessionID: '', directory: '', maxBytes: 0, signal: new AbortController().signal })
  }

  test('is a note in its place and is undelivered, and the others of its album are sent', async () => {
    const scene = sceneWith({ sink: { readFile: gone } })
    scene.show(settledWith([text('All.'), ...['a.md', 'gone.md', 'c.md'].map((name) => filePart(name)), text('End.')]))
    const { undelivered, doubtful } = await scene.end()
    expect(seenIn(scene)).toEqual(['All.', '[a.md]', '*📎 The file gone.md is not there any more.*', '[c.md]', 'End.'])
    expect(undelivered).toEqual([
      {
        key: 'attachment:prt_gone.md',
        card: 'attachment',
        files: ['prt_gone.md'],
        type: 'refused',
        reason: 'The file gone.md is not there any more.',
      },
    ])
    expect(doubtful).toBe(0)
  })

  test('makes no call, and an error without a sentence is not shown', async () => {
    const scene = sceneWith({
      sink: {
        readFile: async () => {
          throw new Error('ENOENT: /etc/secret')
        },
      },
    })
    scene.show(settledWith([text('A.'), filePart('x.md')]))
    const { undelivered } = await scene.end()
    expect(seenIn(scene)).toEqual(['A.', "*📎 The file x.md can't be read.*"])
    expect(undelivered).toMatchObject([{ reason: "The file x.md can't be read." }])
    expect(scene.fake.calls.filter(({ verb }) => verb.startsWith('upload'))).toEqual([])
  })

  test('because it is too large or takes too long to read has a sentence, and nothing waits for it for long', async () => {
    const reads: number[] = []
    const readFile: ReadFile = async ({ filename }, { maxBytes }) => {
      reads.push(maxBytes)
      return await (filename === 'slow.md' ? new Promise<never>(() => {}) : Promise.resolve(Buffer.alloc(2_000_000)))
    }
    const scene = sceneWith({ sink: { readFile } })
    scene.show(settledWith([filePart('big.md'), text('Between.'), filePart('slow.md'), text('End.')]))
    const { undelivered } = await scene.end()
    expect(seenIn(scene)).toEqual([
      expect.stringContaining('big.md is too large: it has 2 MB, and this chat takes at most 1 MB.'),
      'Between.',
      expect.stringContaining('slow.md could not be read in time'),
      'End.',
    ])
    expect(undelivered.map(({ type }) => type)).toEqual(['too-long', 'refused'])
    expect(reads).toEqual([1_000_000, 1_000_000])
  })

  test('because the platform refuses it is a note, without the error of the platform', async () => {
    const scene = sceneWith({ fake: { faults: [{ call: 2, type: 'refused' }] } })
    scene.show(settledWith([text('A.'), filePart('x.md')]))
    const { undelivered } = await scene.end()
    expect(seenIn(scene)).toEqual(['A.', "*📎 The file x.md can't be sent to this chat.*"])
    expect(undelivered).toMatchObject([{ card: 'attachment', type: 'refused' }])
  })

  test('without `readFile` is named with its address, unless the reply has its content', async () => {
    const scene = createScene()
    const url = 'data:text/plain;base64,aGVsbG8='
    const plain = filePart('z.md', { url: 'data:,h%C3%A9llo ö%ff' })
    scene.show(settledWith([text('A.'), filePart('x.md'), text('B.'), filePart('y.md', { url }), text('C.'), plain]))
    await scene.end()
    expect(seenIn(scene)).toEqual(['A.', expect.stringContaining('/project/x'), 'B.', '[y.md]', 'C.', '[z.md]'])
    const contents = scene.fake.screen().flatMap(({ files }) => files.map(({ bytes }) => Buffer.from(bytes)))
    expect(contents).toEqual([Buffer.from('hello'), Buffer.concat([Buffer.from('héllo ö'), Buffer.from([0xff])])])
  })

  test('whose `data:` URL is malformed is refused by its name', async () => {
    const scene = createScene()
    scene.show(settledWith([text('A.'), filePart('x.md', { url: 'data:;base64,a*b' })]))
    await scene.end()
    expect(seenIn(scene)).toEqual(['A.', expect.stringContaining('The file x.md has a malformed')])
  })

  test('because the chat takes no files is named', async () => {
    const scene = sceneWith({ fake: { lacks: ['upload'] } })
    scene.show(settledWith([text('A.'), filePart('x.md')]))
    const { undelivered } = await scene.end()
    expect(seenIn(scene)).toEqual(['A.', expect.stringContaining('x.md')])
    expect(undelivered).toMatchObject([{ key: 'attachment:prt_x.md', card: 'attachment', type: 'refused' }])
  })

  test('of a name with paths and 300 characters has a safe and short name', async () => {
    const scene = sceneWith()
    scene.show(settledWith([text('A.'), filePart('x', { filename: `../../${'n'.repeat(300)}.html` })]))
    await scene.end()
    const [file] = scene.fake.screen()[1]?.files ?? []
    expect(file?.name).toMatch(/^n{1,80}[-…n]*\.txt$/)
    expect(file?.caption.length).toBeLessThanOrEqual(200)
  })
})

test('of 500 files in one answer, twenty are sent, and one note names others', async () => {
  const scene = sceneWith({ fake: { limits: { maxLength: 4000 } } })
  const files = Array.from({ length: 500 }, (_, at) => filePart(`f${at}.md`))
  scene.show(settledWith([text('Here.'), ...files]))
  const { undelivered } = await scene.end()
  const screen = scene.fake.screen()
  expect(screen.flatMap((message) => message.files)).toHaveLength(20)
  expect(screen).toHaveLength(1 + 5 + 1)
  expect(screen.at(-1)?.text).toMatch(/480 more files.*: f20\S*, f21.* … and \d+ more/s)
  expect(undelivered).toHaveLength(480)
})

test('a message that can’t name all files that were left names the first ones, and how many follow, at each length', () => {
  const names = Array.from({ length: 24 }, (_, at) => `${'👩‍👩‍👧'.repeat(at % 4)}${at}_a.md`)
  const { filesLeft } = texts
  const source = filesLeftNote(names, names.length, texts)
  const card = { type: 'note', key: 'unsent', source, names } as const
  const shownAt = (maxLength: number): string => {
    const limits = { ...fakeLimits, maxLength }
    const [slot] = layout([card], { render: fakeRender, limits, mode: 'live', texts, ledger: emptyLedger })
    return slot?.bubble.text ?? expect.fail('It has no message.')
  }
  const lengths = Array.from({ length: 25 }, (_, count) => fakeRender(filesLeftNote(names, count, texts)).length)
  const lengthOf = (count: number): number => lengths[count] ?? 0
  for (let maxLength = lengthOf(names.length) + 1; maxLength >= lengthOf(0); maxLength--) {
    const fitting = names.findLastIndex((_, at) => lengthOf(at + 1) <= maxLength) + 1
    const words = filesLeft(names.slice(0, fitting), 20, names.length - fitting)
    expect(shownAt(maxLength)).toBe(fakeRender(italic(words)).text)
    expect(words).toMatch(fitting === 24 ? /24 more files.*23_a\.md$/ : /24 more files/)
    if (fitting > 0 && fitting < 24) expect(words.endsWith(` … and ${24 - fitting} more`)).toBe(true)
  }
  for (let maxLength = lengthOf(0) - 1; maxLength > 2; maxLength--) {
    expect(shownAt(maxLength)).toMatch(/…$/)
    expect(shownAt(maxLength)).not.toMatch(/\p{Surrogate}/u)
    expect(fakeRender(shownAt(maxLength)).length).toBeLessThanOrEqual(maxLength)
  }
})

describe('a note in place of files', () => {
  const goneNote = '*📎 The file gone.md is not there any more.*'
  const gone: ReadFile = async () => {
    throw new FileRefusal('refused', 'The file gone.md is not there any more.')
  }
  const reply = settledWith([text('A.'), filePart('gone.md'), text('B.')])

  test.each([
    ['had made it', [goneNote, goneNote]],
    ['had not made it yet', [goneNote]],
  ] as const)('is there if its process was killed in mid-post and the platform %s', async (when, notes) => {
    const clock = createHandClock(beginning)
    const { port, screen } = createFake({ clock })
    let isKilled = false
    const post: ChannelPort['post'] = async (bubble, options) => {
      if (isKilled || !bubble.text.includes('gone.md')) return await port.post(bubble, options)
      if (when === 'had made it') await port.post(bubble, options)
      return await new Promise(() => {})
    }
    const sinks = createKilledSinks({ port: { ...port, post }, clock, readFile: gone })
    sinks.show(reply)
    await clock.advance(60_000, rest)
    isKilled = true
    sinks.kill()
    const { doubtful, undelivered } = await sinks.settled()
    expect(screen().map((message) => message.text)).toEqual(['A.', ...notes, 'B.'])
    expect([doubtful, undelivered]).toMatchObject([1, [{ files: ['prt_gone.md'], type: 'refused' }]])
  })

  const many = Array.from({ length: 22 }, (_, at) => filePart(`${at}.md`))
  test.each<[string, number, SceneOptions, readonly Part[], readonly string[]]>([
    ['a file that can not be read', 2, { sink: { readFile: gone } }, [text('A.'), filePart('gone.md')], ['gone.md']],
    ['a file in a chat that takes none', 2, { fake: { lacks: ['upload'] } }, [text('A.'), filePart('x.md')], ['x.md']],
    ['files that are too many', 7, {}, [text('A.'), ...many], ['20.md', '21.md']],
  ])(
    'without a result after two posts lists each file once, as perhaps missing: %s',
    async (_, at, scene, parts, names) => {
      const faults = [at, at + 1].map((call): FakeFault => ({ call, type: 'ambiguous' }))
      const { fake, show, end } = sceneWith({ ...scene, fake: { ...scene.fake, faults } })
      show(settledWith(parts))
      const { undelivered, doubtful } = await end()
      expect(undelivered).toEqual(
        names.map((name) => ({
          key: `attachment:prt_${name}`,
          card: 'attachment',
          files: [`prt_${name}`],
          type: 'ambiguous',
          reason: 'The note that names it was posted twice, and the platform confirmed neither post.',
        })),
      )
      expect([doubtful, fake.calls.filter(({ result }) => result === 'ambiguous').length]).toEqual([2, 2])
    },
  )

  test('that was given up lists its file once, as given up', async () => {
    const faults = Array.from({ length: 100 }, (_, at): FakeFault => ({ call: at + 2, type: 'unreachable' }))
    const scene = sceneWith({ fake: { faults }, sink: { readFile: gone, policy: { giveUpMs: 60_000 } } })
    scene.show(settledWith([text('A.'), filePart('gone.md')]))
    const { undelivered } = await scene.end()
    expect(undelivered).toMatchObject([{ card: 'attachment', files: ['prt_gone.md'], type: 'given-up' }])
  })

  test('names a file that comes later, too, and lists it', async () => {
    const scene = sceneWith()
    const first = { ...text('A.'), id: 'prt_a' }
    scene.show(settledWith([first, ...many.slice(0, 21)]))
    await scene.end()
    scene.show(settledWith([first, ...many]), 'replyAmended')
    const { undelivered } = await scene.end()
    expect(seenIn(scene).at(-1)).toMatch(/2 more files.*20\S*md, 21/)
    expect(undelivered.flatMap(({ files }) => files)).toEqual(['prt_20.md', 'prt_21.md'])
  })
})

describe('each file is there once', () => {
  const parts = [text('A.'), ...['1.png', '2.png'].map(picture), text('B.'), filePart('x.md')]

  test.each<[string, readonly FakeFault[]]>([
    ['a 429 at an album', [{ call: 2, type: 'rate-limited' }]],
    [
      'an unreachable platform',
      [
        { call: 2, type: 'unreachable' },
        { call: 4, type: 'unreachable' },
      ],
    ],
    ['an album that is refused', [{ call: 2, type: 'refused' }]],
  ])('after %s', async (_, faults) => {
    const scene = sceneWith({ fake: { faults } })
    scene.show(settledWith(parts))
    const { undelivered, doubtful } = await scene.end()
    expect(scene.fake.posted.flatMap(({ files }) => files.map(({ name }) => name))).toEqual(['1.png', '2.png', 'x.md'])
    expect([undelivered, doubtful]).toEqual([[], 0])
  })

  test('or a copy is counted, where the platform can not tell', async () => {
    const scene = sceneWith({ fake: { faults: [{ call: 2, type: 'done' }], lookUp: 'probe' } })
    scene.show(settledWith(parts))
    const { undelivered, doubtful } = await scene.end()
    expect(scene.fake.posted.flatMap(({ files }) => files.map(({ name }) => name))).toEqual([
      ...['1.png', '2.png', '1.png', '2.png'],
      'x.md',
    ])
    expect([undelivered, doubtful]).toEqual([[], 1])
  })

  test('and is undelivered if neither of two posts has a result', async () => {
    const faults = [2, 4].map((number): FakeFault => ({ call: number, type: 'ambiguous' }))
    const scene = sceneWith({ fake: { faults, lookUp: 'probe' } })
    scene.show(settledWith([text('A.'), filePart('x.md'), text('B.')]))
    const { undelivered } = await scene.end()
    expect(undelivered).toMatchObject([{ card: 'attachment', type: 'ambiguous' }])
    expect(seenIn(scene).at(-1)).toBe('B.')
  })

  test('after a restart between its parts, and in the middle of the post of an album', async () => {
    for (const stopAt of [1, 2, 3, 4]) {
      const scene = sceneWith({ fake: { limits: { idempotent: true } } })
      scene.show(settledWith(parts))
      while (scene.fake.posted.length < stopAt) await scene.pass(50)
      await scene.restart()
      scene.show(settledWith(parts))
      await scene.end()
      expect(seenIn(scene)).toEqual(['A.', '[1.png 2.png]', 'B.', '[x.md]'])
    }
  })

  test('and an album keeps its files once its post began, although another file comes', async () => {
    const scene = sceneWith({ fake: { faults: [{ call: 2, type: 'done' }], limits: { idempotent: true } } })
    const first = { ...text('A.'), id: 'prt_a' }
    scene.show(replyWith([first, picture('1.png'), picture('2.png')]))
    while (!scene.fake.calls.some(({ verb }) => verb === 'uploadAlbum')) await scene.pass(50)
    scene.show(settledWith([first, ...['1.png', '2.png', '3.png'].map(picture)]))
    await scene.end()
    expect(seenIn(scene)).toEqual(['A.', '[1.png 2.png]', '[3.png]'])
  })
})

test('an ask does not wait for files', async () => {
  const { asks } = await import('./make.ts')
  const scene = sceneWith({ sink: { readFile: () => new Promise(() => {}) } })
  scene.show(replyWith([text('A.'), filePart('x.md')], { asks: [asks()], phase: 'blocked' }))
  await scene.pass(5000)
  expect(seenIn(scene).some((one) => one.includes('Which one?'))).toBe(true)
  await scene.sink().stop()
})

test('at most two posts of files are in memory in one process, and a stop frees their places', async () => {
  let open = 0
  let most = 0
  const readFile: ReadFile = async (_, { signal }) => {
    open += 1
    most = Math.max(most, open)
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    open -= 1
    throw new PortError('refused', 'Stopped.')
  }
  const scenes = Array.from({ length: 5 }, () => sceneWith({ sink: { readFile } }))
  for (const scene of scenes) scene.show(settledWith([filePart('x.md')]))
  for (const scene of scenes) await scene.pass(100)
  expect([open, most]).toEqual([2, 2])
  for (const scene of scenes) await scene.sink().stop()
  const last = sceneWith()
  last.show(settledWith([filePart('x.md')]))
  await last.end()
  expect([open, most, seenIn(last)]).toEqual([0, 2, ['[x.md]']])
})

test('a stop while files are read leaves them to the next process', async () => {
  const scene = sceneWith({ sink: { readFile: () => new Promise(() => {}) } })
  scene.show(settledWith([text('A.'), filePart('x.md')]))
  await scene.pass(1000)
  const { undelivered } = await scene
    .sink()
    .stop()
    .then(() => scene.sink().settled())
  expect(undelivered).toMatchObject([{ card: 'attachment', type: 'stopped' }])
})

test('the ledger has no bytes', async () => {
  const scene = sceneWith()
  const url = `data:image/png;base64,${Buffer.from('a picture').toString('base64')}`
  scene.show(settledWith([filePart('x.png', { mime: 'image/png', url })]))
  await scene.end()
  expect(JSON.stringify(await ledgerOf(scene, 'chat/ses_1/msg_1'))).not.toContain('base64')
})
