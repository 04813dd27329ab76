import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PromptFile } from '@reply/core'
import { connectSource, createLocalAgent, type FileKind } from '@reply/core/source'
import { startSlack } from '@reply/testing/slack'
import { startTelegram } from '@reply/testing/telegram'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startChats } from './chats.ts'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer, localAgent } from './local-agent.ts'
import { slackOn, telegramOn } from './platforms.ts'

let open: HandDriven | undefined
let home: string
let project: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reply-bad-files-'))
  project = join(home, 'project')
  mkdirSync(join(project, 'folder'), { recursive: true })
  writeFileSync(join(home, 'secret.txt'), 'outside')
  writeFileSync(join(project, 'good.txt'), 'good')
})
afterEach(async () => {
  await open?.chats.close()
  open = undefined
  rmSync(home, { recursive: true, force: true })
})

/** What a chat shows: texts, and the names and contents of files. */
const shown = ({ telegram }: Pick<HandDriven, 'telegram'>, chat: number): readonly string[] =>
  telegram
    .screen(chat)
    .filter(({ from }) => from === 'bot')
    .map(({ text, document }) => (document ? `${document.name}: ${Buffer.from(document.bytes)}` : text))

/** Whether this process has opened a file, and has read some of it. */
function isBeingRead(path: string): boolean {
  return readdirSync('/proc/self/fd').some((fd) => {
    try {
      if (readlinkSync(`/proc/self/fd/${fd}`) !== path) return false
      return !/^pos:\s*0$/m.test(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))
    } catch {
      // It was closed meanwhile.
      return false
    }
  })
}

const isOver = (stage: HandDriven, chat: number) => (): boolean => shown(stage, chat).includes('Done.')

describe('a file of an answer', () => {
  /** Lets the agent send files to Ann, and a good one to Bob. Resolves with what Ann sees. */
  async function sent(...urls: readonly string[]): Promise<readonly string[]> {
    open = await startHandDriven(
      (run, text) => {
        const all = text === 'Go' ? urls : ['good.txt']
        for (const url of all) run.write({ type: 'file', mime: 'text/plain', url })
        run.write({ type: 'text', delta: 'Done.' })
        run.end({ type: 'completed' })
      },
      { server: { directory: project } },
    )
    open.telegram.say(1, 'Go')
    open.telegram.say(2, 'Good')
    const stage = open
    await stage.passes(() => isOver(stage, 1)() && isOver(stage, 2)())
    expect(shown(stage, 2)).toEqual(['good.txt: good', 'Done.'])
    expect(stage.chats.errors.filter(({ message }) => !message.startsWith('A file for chat 1: '))).toEqual([])
    return shown(stage, 1)
  }

  const long = `${'n'.repeat(296)}.txt`

  test.each<[string, string, () => void, string]>([
    ['vanished', 'gone.txt', () => {}, '📎 The file gone.txt is not there any more.'],
    [
      'is a link out of the project',
      'link.txt',
      () => symlinkSync(join(home, 'secret.txt'), join(project, 'link.txt')),
      "📎 The file link.txt is a link out of its session's directory.",
    ],
    [
      'is a link to a device',
      'zero.txt',
      () => symlinkSync('/dev/zero', join(project, 'zero.txt')),
      "📎 The file zero.txt is a link out of its session's directory.",
    ],
    ['is a device', '/dev/zero', () => {}, "📎 The file zero is outside of its session's directory."],
    [
      'is a pipe',
      'pipe.txt',
      () => void execFileSync('mkfifo', [join(project, 'pipe.txt')]),
      '📎 The file pipe.txt is a pipe.',
    ],
    ['is a folder', 'folder', () => {}, '📎 The file folder is a folder.'],
    [
      'is behind ../',
      'folder/../../secret.txt',
      () => {},
      "📎 The file secret.txt is outside of its session's directory.",
    ],
    ['has a name of 300 characters', long, () => {}, `📎 The file ${long.slice(0, 79)}… has a name that is too long.`],
    [
      'has 2 GB',
      'large.txt',
      () => {
        writeFileSync(join(project, 'large.txt'), '')
        truncateSync(join(project, 'large.txt'), 2_000_000_000)
      },
      '📎 The file large.txt is too large: it has 2 GB, and the limit is 50 MB. It lies at ',
    ],
  ])('that %s is a sentence, and the others are sent', async (_, url, make, sentence) => {
    make()
    const all = await sent(url, 'good.txt')
    expect(all).toEqual([expect.stringContaining(sentence), 'good.txt: good', 'Done.'])
    expect(all).not.toContain('secret.txt: outside')
  })

  // Only Linux tells how far an open file was read.
  test.runIf(process.platform === 'linux')(
    'that grows while it is read is a sentence, and the others are sent',
    async () => {
      const path = join(project, 'growing.txt')
      writeFileSync(path, '')
      let isOver = false
      // The reader gets 1 MB in each turn. It reads the file twice: as a part of an album, and by itself.
      const grow = (): void => {
        if (isOver) return
        truncateSync(path, isBeingRead(path) ? 60_000_000 : 40_000_000)
        setImmediate(grow)
      }
      grow()
      try {
        expect(await sent('growing.txt', 'good.txt')).toEqual([
          '📎 The file growing.txt grew beyond 50 MB while it was read.',
          'good.txt: good',
          'Done.',
        ])
      } finally {
        isOver = true
      }
    },
  )

  test('that is one of 500: twenty are sent, and a note names others', async () => {
    const names = Array.from({ length: 500 }, (_, index) => `file-${index}.txt`)
    for (const name of names) writeFileSync(join(project, name), name)
    // In real time: a clock by hand runs ahead of twenty reads on a loaded machine.
    const telegram = await startTelegram({ token: '42:secret', chats: [{ id: 1, type: 'private', title: 'Ann' }] })
    const agent = localAgent((run) => {
      for (const url of names) run.write({ type: 'file', mime: 'text/plain', url })
      answer(run, 'Done.')
    })
    const chats = await startChats({ platforms: [telegramOn(telegram)], connectTo: agent.connectTo })
    try {
      await chats.start({ server: { directory: project } })
      telegram.say(1, 'Go')
      await expect.poll(() => shown({ telegram }, 1), { timeout: 100_000 }).toContain('Done.')
      const all = shown({ telegram }, 1)
      expect(all.filter((one) => /^file-\d+\.txt: /.test(one))).toHaveLength(20)
      expect(all.filter((one) => one.includes('file-20.txt'))).toHaveLength(1)
      expect(chats.errors).toEqual([])
    } finally {
      await chats.close()
    }
  })
})

describe('a file of a person', () => {
  const png = Buffer.from('89504e470d0a1a0a', 'hex')
  const heard: (readonly PromptFile[])[] = []
  beforeEach(() => void heard.splice(0))

  /** Sends a file to an agent that takes these. Resolves with what the bot says to that. */
  async function received(name: string, mime: string, bytes: Uint8Array, takes: readonly FileKind[] | undefined) {
    open = await startHandDriven(() => {}, {
      changed: () => {
        const { source } = createLocalAgent({
          name: 'an agent in the test',
          ...(takes && { takes: async () => takes }),
          create: ({ directory }) => ({ sessionID: `ses_${heard.length}`, directory }),
          prompt: async (run, { files = [] }) => {
            heard.push(files)
            answer(run, 'Done.')
          },
          cancel: (run) => run.end({ type: 'aborted' }),
        })
        return connectSource(source)
      },
    })
    const stage = open
    stage.telegram.say(1, 'Look', { file: { kind: 'document', name, mime, bytes } })
    stage.telegram.say(2, 'Hi')
    await stage.passes(() => shown(stage, 1).length > 0 && shown(stage, 2).length > 0)
    expect(shown(stage, 2)).toEqual(['Done.'])
    expect(stage.chats.errors.filter(({ name: error }) => error !== 'FileFailure')).toEqual([])
    return shown(stage, 1)
  }

  test.each([[['text', 'image'] as const], [undefined]])(
    'without content is refused, by an agent that takes %j',
    async (takes) => {
      expect(await received('empty.txt', 'text/plain', new Uint8Array(), takes)).toEqual([
        'Nothing was run, because the file empty.txt could not be read: it is empty.',
      ])
      expect(heard).toEqual([[]])
    },
  )

  test.each<[string, string, Uint8Array, string]>([
    ['a picture that is said to be a PDF', 'application/pdf', png, 'image/png'],
    ['a text that is said to be a picture', 'image/png', Buffer.from('text'), 'text/plain'],
    ['a text without a type', '', Buffer.from('text'), 'text/plain'],
  ])('counts by its content: %s', async (_, mime, bytes, type) => {
    expect(await received('file', mime, bytes, ['text', 'image'])).toEqual(['Done.'])
    expect(heard.flat().map((file) => file.mime)).toEqual([type])
  })

  test.each(['Summarise this', ''])(
    'that Slack does not hold is refused with the reason, beside the text %j',
    async (text) => {
      const slack = await startSlack()
      const agent = localAgent((run) => answer(run, 'Done.'))
      const chats = await startChats({ platforms: [slackOn(slack)], connectTo: agent.connectTo })
      try {
        await chats.start()
        const file = {
          name: 'Plan',
          bytes: new Uint8Array(),
          mime: 'application/vnd.google-apps.document',
          isExternal: true,
        }
        slack.say('C1', text, { from: { id: 'U1', name: 'Ann' }, mention: true, file })
        const posted = () => slack.screen('C1').flatMap((one) => (one.from === 'bot' ? [one.text] : []))
        await expect.poll(posted).toEqual([expect.stringContaining('the file Plan could not be read')])
        expect(posted().join()).toContain("another service stores it, so it can't be downloaded from Slack")
        expect(agent.heard).toEqual([])
      } finally {
        await chats.close()
      }
    },
  )

  test('that is an archive and said to be a text is refused by its name', async () => {
    expect(await received('all.txt', 'text/plain', Buffer.from('504b03040000', 'hex'), ['text'])).toEqual([
      'Nothing was run: the agent can’t read all.txt. It takes text files. Send it in one of these forms.',
    ])
  })

  test('with control characters, markup and line breaks in its name is named in one line, as plain text', async () => {
    const name = 'a\u0007\nb\u202e **bold** <b>x @everyone.zip'
    const [said = ''] = await received(name, 'application/zip', new Uint8Array([0]), ['text'])
    expect(said).toMatch(
      /^Nothing was run: the agent can’t read a.*b.*\*\*bold\*\* <b>x.*\.zip\. It takes text files\./,
    )
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be shown.
    expect(said).not.toMatch(/[\u0000-\u001f\u202e]/)
    expect(heard).toEqual([[]])
  })

  test('with control characters in its name reaches the agent under a name of one line', async () => {
    expect(await received('a\u0007\nb\u202e.txt', 'text/plain', Buffer.from('x'), ['text'])).toEqual(['Done.'])
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be passed on.
    expect(heard.flat()[0]?.filename).not.toMatch(/[\u0000-\u001f]/)
  })
})
