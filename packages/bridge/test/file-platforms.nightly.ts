import type { PromptFile } from '@reply/core'
import { connectSource, createLocalAgent, type FileKind } from '@reply/core/source'
import { test } from 'vitest'
import { startChats } from './chats.ts'
import { linkedDevice } from './linked-device.ts'
import { answer } from './local-agent.ts'
import { type Platform, platformNames, type Sent, startPlatform } from './platforms.ts'

/** What each source takes, as its `takes` says for a model that takes all that the source can pass on. */
const sources: Readonly<Record<string, readonly FileKind[]>> = {
  'OpenCode 1': ['text', 'image', 'pdf', 'audio', 'video'],
  'OpenCode 2': ['text', 'image', 'pdf', 'audio', 'video'],
  'ACP with pictures': ['text', 'image'],
  'ACP without pictures': ['text'],
  'Claude Code': ['text', 'image', 'pdf'],
  Codex: ['text', 'image'],
  'a command': [],
}

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const photo: Sent = { name: 'photo.png', mime: 'image/png', bytes: png, isPicture: true }
const second: Sent = { ...photo, name: 'second.png', bytes: Buffer.concat([png, Buffer.from('2')]) }
const notes: Sent = { name: 'notes.csv', mime: 'text/csv', bytes: Buffer.from('a,b\n1,2\n') }
const paper: Sent = { name: 'paper.pdf', mime: 'application/pdf', bytes: Buffer.from('%PDF-1.7\n\0') }

/** What people send together, and the kind of each file. */
const messages: Readonly<Record<string, { readonly files: readonly Sent[]; readonly kinds: readonly FileKind[] }>> = {
  'a picture': { files: [photo], kinds: ['image'] },
  'a text': { files: [notes], kinds: ['text'] },
  'a PDF': { files: [paper], kinds: ['pdf'] },
  'an album': { files: [photo, second], kinds: ['image', 'image'] },
}

const channels: Readonly<Record<string, () => Promise<Platform>>> = {
  ...Object.fromEntries(platformNames.map((name) => [name, async () => await startPlatform(name)])),
  'a linked device of WhatsApp': linkedDevice,
}

/** A prompt as a source gets it. */
interface Heard {
  readonly text: string | undefined
  readonly files: readonly PromptFile[]
}

/** What is sent to which source. Platforms allow few messages in a minute, so not each of them is sent to each source. */
const cells: readonly (readonly [string, string])[] = [
  ...Object.keys(sources).map((source) => ['an album', source] as const),
  ...['a picture', 'a text', 'a PDF'].map((what) => [what, 'OpenCode 1'] as const),
  ['a text', 'ACP without pictures'],
  ['a PDF', 'Claude Code'],
  ['a PDF', 'Codex'],
  ['a text', 'a command'],
]

const mimes: Partial<Record<FileKind, string>> = { image: 'image/png', text: 'text/plain', pdf: 'application/pdf' }

const contentOf = ({ url }: PromptFile): string => Buffer.from(url.split(',')[1] ?? '', 'base64').toString('latin1')

test.concurrent.for(Object.entries(channels))(
  '%s: a source that takes the files gets them as one prompt, and for another one people hear why nothing runs',
  { timeout: 300_000 },
  async ([, start], { expect }) => {
    const platform = await start()
    let takes: readonly FileKind[] = []
    const heard: Heard[] = []
    const { source: agent } = createLocalAgent({
      name: 'an agent in the test',
      takes: async () => takes,
      create: ({ directory }) => ({ sessionID: `ses_${heard.length}`, directory }),
      prompt: async (run, { text, files = [] }) => {
        heard.push({ text, files })
        answer(run, `Seen: ${text}.`)
      },
      cancel: (run) => run.end({ type: 'aborted' }),
    })
    const chats = await startChats({ platforms: [platform], connectTo: () => connectSource(agent) })
    await chats.start()
    try {
      for (const [what, source] of cells) {
        const { files = [], kinds = [] } = messages[what] ?? {}
        takes = sources[source] ?? []
        const caption = `Look at ${what} for ${source}`
        const [prompts, said] = [heard.length, platform.texts('ann').length]
        const answered = (): string => platform.texts('ann').slice(said).join('\n')
        platform.send('ann', caption, files)
        await expect.poll(answered, { timeout: 90_000 }).toMatch(/Seen: |Nothing was run/)
        const isTaken = kinds.every((kind) => takes.includes(kind))
        const got = heard.slice(prompts).map((one) => ({
          isCaption: one.text?.includes(caption),
          files: one.files.map((file) => [file.mime, contentOf(file)]),
        }))
        const bytes = files.map((file) => Buffer.from(file.bytes).toString('latin1'))
        const wanted = { isCaption: true, files: kinds.map((kind, index) => [mimes[kind], bytes[index]]) }
        expect({ what, source, got }).toEqual({ what, source, got: isTaken ? [wanted] : [] })
        const isTold = answered().includes(takes.length === 0 ? 'It takes no files.' : 'It takes text files')
        expect({ what, source, isTold }).toEqual({ what, source, isTold: !isTaken })
      }
      expect(chats.errors).toEqual([])
    } finally {
      await chats.close()
    }
  },
)
