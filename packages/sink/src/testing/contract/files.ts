import type { Part, Reply } from '@reply/core'
import type { Delivery } from '../../deliver/delivery.ts'
import { defaultFileLimits } from '../../port/limits.ts'
import type { Attachment, ChannelPort, MessageRef } from '../../port/port.ts'
import { FileRefusal } from '../../port/port-error.ts'
import { settledDelivery, startReply, withSink } from './acting.ts'
import { replyOf } from './script.ts'
import {
  type Demand,
  failureOf,
  must,
  mustBeLimited,
  post,
  type Stage,
  type StageFault,
  textFile,
  textsOn,
} from './stage.ts'

const canUpload: Demand['needs'] = ({ port }) => port.upload !== undefined
const canUploadAlbum: Demand['needs'] = ({ port }) => port.uploadAlbum !== undefined
const failsUpload =
  (fault: StageFault): NonNullable<Demand['needs']> =>
  ({ port, faults }) =>
    port.upload !== undefined && faults.includes(fault)

/** A PNG of one pixel. */
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** Returns a small picture. */
function pictureFile(name: string): Attachment {
  const bytes = Uint8Array.from(atob(pixel), (character) => character.charCodeAt(0))
  return { name, mime: 'image/png', bytes, caption: name }
}

let keys = 0

/** Uploads one file or an album through the stage's port. */
async function upload(stage: Stage, ...files: readonly Attachment[]): Promise<string> {
  const { port, chat } = stage
  const options = { chat, silent: true, key: `contract-file-${++keys}`, signal: new AbortController().signal }
  const [file] = files
  must(port.upload !== undefined && file !== undefined, 'The port has no `upload`.')
  if (files.length === 1) return (await port.upload(file, options)).id
  must(port.uploadAlbum !== undefined, 'The port has no `uploadAlbum`.')
  return (await port.uploadAlbum(files, options)).id
}

/** Returns the names of all files in the chat, in order. A picture without a name is named by its caption. */
function namesOn(stage: Stage): readonly string[] {
  return stage.screen().flatMap(({ fileNames, fileName, isPicture, text }) => {
    if (fileNames !== undefined && fileNames.length > 0) return fileNames
    return fileName === undefined && !isPicture ? [] : [fileName ?? text]
  })
}

/** How a port posts files. */
export const files = [
  {
    name: 'posts a file with its caption',
    needs: canUpload,
    run: async (stage) => {
      const id = await upload(stage, textFile('code-1.ts', 'const a = 1\n', 'A file.'))
      const [message] = stage.screen()
      must(message?.id === id, `The ref has the id ${id}, the message ${message?.id}.`)
      must(message.text.includes('A file.'), `Its caption is "${message.text}".`)
      must(message.fileText === 'const a = 1\n', `Its content is "${message.fileText}".`)
      must(message.isPicture === false, 'It is shown as a picture.')
    },
  },
  {
    name: 'posts a picture as a picture',
    needs: canUpload,
    run: async (stage) => {
      const id = await upload(stage, pictureFile('shot.png'))
      const [message, ...more] = stage.screen()
      must(message?.id === id && more.length === 0, `The chat shows ${1 + more.length} messages.`)
      must(message.isPicture === true, 'It is not shown as a picture.')
      must(message.text.includes('shot.png'), `Its caption is "${message.text}".`)
    },
  },
  {
    name: 'posts a file that only claims to be a picture as a file, or refuses it',
    needs: canUpload,
    run: async (stage) => {
      const fake = { ...pictureFile('fake.png'), bytes: new TextEncoder().encode('<html></html>') }
      const failed = await upload(stage, fake).then(
        () => undefined,
        (error: unknown) => error,
      )
      must(failed === undefined || failed instanceof FileRefusal, `It failed with ${String(failed)}.`)
      must(stage.screen().length === (failed ? 0 : 1), 'The chat shows something else than the call says.')
    },
  },
  {
    name: 'refuses a file that is too large or empty, with a sentence that names it',
    needs: canUpload,
    run: async (stage) => {
      const { maxBytes } = stage.port.limits.files ?? defaultFileLimits
      const large = await failureOf(
        upload(stage, { ...textFile('big.txt', '', 'Big.'), bytes: new Uint8Array(maxBytes + 1) }),
      )
      must(large instanceof FileRefusal && large.type === 'too-long', `The error type is ${large.type}.`)
      must(large.message.includes('big.txt'), `The sentence is "${large.message}".`)
      const empty = await failureOf(upload(stage, textFile('none.txt', '', 'None.')))
      must(empty instanceof FileRefusal && empty.type === 'refused', `The error type is ${empty.type}.`)
      must(stage.screen().length === 0, 'The chat shows a message.')
    },
  },
  {
    name: 'reports faults of a file like those of posts',
    needs: failsUpload('rate-limited'),
    run: async (stage) => {
      stage.failNext('rate-limited')
      mustBeLimited(stage, await failureOf(upload(stage, textFile('a.txt', 'a', 'A.'))))
      must(stage.screen().length === 0, 'The file was posted anyway.')
      stage.failNext('refused')
      const refused = await failureOf(upload(stage, pictureFile('b.png')))
      must(refused.type === 'refused' || refused.type === 'rate-limited', `The error type is ${refused.type}.`)
      must(stage.screen().length === 0, 'The picture was posted anyway.')
    },
  },
  {
    name: 'reports a file with an unknown result, and does not repeat it',
    needs: failsUpload('unanswered'),
    run: async (stage) => {
      stage.failNext('unanswered')
      const { type } = await failureOf(upload(stage, textFile('a.txt', 'a', 'A.')))
      must(
        type === 'ambiguous' || (type === 'unreachable' && stage.screen().length === 0),
        `The error type is ${type}.`,
      )
      must(stage.screen().length <= 1, 'The port retried on its own.')
    },
  },
  {
    name: 'posts an album in order, pictures and others',
    needs: canUploadAlbum,
    run: async (stage) => {
      await post(stage, 'Above.')
      const pictures = ['1.png', '2.png', '3.png']
      const id = await upload(stage, ...pictures.map(pictureFile))
      must(stage.screen()[1]?.id === id, 'The ref is not that of the first message.')
      must(
        stage
          .screen()
          .slice(1)
          .every(({ isPicture }) => isPicture === true),
        'Not all are shown as pictures.',
      )
      await stage.pass?.(60_000)
      const others = ['4.txt', '5.txt']
      await upload(stage, ...others.map((name) => textFile(name, name, name)))
      must(namesOn(stage).join() === [...pictures, ...others].join(), `The chat shows ${namesOn(stage).join()}.`)
    },
  },
  {
    name: 'posts nothing of an album that is refused or limited',
    needs: (stage) => canUploadAlbum(stage) && failsUpload('rate-limited')(stage),
    run: async (stage) => {
      for (const fault of ['rate-limited', 'refused'] as const) {
        stage.failNext(fault)
        await failureOf(upload(stage, pictureFile('1.png'), pictureFile('2.png')))
        must(stage.screen().length === 0, `It shows ${textsOn(stage).join(' | ')}.`)
      }
      const large = { ...pictureFile('2.png'), bytes: new Uint8Array(1 + (stage.port.limits.files?.maxBytes ?? 0)) }
      await failureOf(upload(stage, pictureFile('1.png'), large))
      must(stage.screen().length === 0, 'A part of an album was posted.')
    },
  },
  {
    name: 'shows the files of a reply in its order, each once',
    needs: canUpload,
    run: async (stage) => {
      const delivery = await showFiles(stage)
      must(delivery.undelivered.length === 0, `${delivery.undelivered[0]?.key} is reported as undelivered.`)
      must(delivery.doubtful === 0, 'A message is reported as doubtful.')
      must(namesOn(stage).join() === shownNames.join(), `The chat shows ${namesOn(stage).join()}.`)
      const texts = textsOn(stage).filter((text) => text.includes('Text '))
      must(texts.length === 2 && texts[0]?.includes('Text one') === true, `It shows ${texts.join(' | ')}.`)
    },
  },
  {
    name: 'shows each file once after a rate limit',
    needs: failsUpload('rate-limited'),
    run: async (stage) => {
      const delivery = await showFiles(stage, 'rate-limited')
      must(delivery.undelivered.length === 0, `${delivery.undelivered[0]?.key} is reported as undelivered.`)
      must(namesOn(stage).join() === shownNames.join(), `The chat shows ${namesOn(stage).join()}.`)
    },
  },
  {
    name: 'loses no file whose post has no response, and counts each copy',
    needs: failsUpload('unanswered'),
    run: async (stage) => {
      const { undelivered, doubtful } = await showFiles(stage, 'unanswered')
      must(undelivered.length === 0, `${undelivered[0]?.key} is reported as undelivered.`)
      const names = namesOn(stage)
      must([...new Set(names)].join() === shownNames.join(), `The chat shows ${names.join()}.`)
      const isCounted = names.length === shownNames.length || doubtful > 0
      must(isCounted, `${names.length - shownNames.length} copies are not counted.`)
    },
  },
] as const satisfies readonly Demand[]

const shownNames = ['1.png', '2.png', '3.png', 'notes.txt']

/** Shows a reply with three pictures between two texts, and a text file. The first call that posts files has the fault. */
async function showFiles(stage: Stage, fault?: StageFault): Promise<Delivery> {
  const { port } = stage
  let isFaulty = fault !== undefined
  const befall = <T>(call: () => Promise<T>): Promise<T> => {
    if (isFaulty && fault) stage.failNext(fault)
    isFaulty = false
    return call()
  }
  const faulty: ChannelPort = {
    ...port,
    ...(port.upload && { upload: (...given) => befall(async () => await uploadWith(port, ...given)) }),
    ...(port.uploadAlbum && { uploadAlbum: (...given) => befall(async () => await uploadAlbumWith(port, ...given)) }),
  }
  let delivery: Delivery | undefined
  await withSink({ ...stage, port: faulty }, async (sink) => {
    startReply(sink, replyWithFiles())
    delivery = await settledDelivery(stage, sink)
  })
  must(delivery !== undefined, 'The sink did not settle in time.')
  return delivery
}

async function uploadWith(
  port: ChannelPort,
  ...given: Parameters<NonNullable<ChannelPort['upload']>>
): Promise<MessageRef> {
  must(port.upload !== undefined, 'The port has no `upload`.')
  return await port.upload(...given)
}

async function uploadAlbumWith(
  port: ChannelPort,
  ...given: Parameters<NonNullable<ChannelPort['uploadAlbum']>>
): Promise<MessageRef> {
  must(port.uploadAlbum !== undefined, 'The port has no `uploadAlbum`.')
  return await port.uploadAlbum(...given)
}

function replyWithFiles(): Reply {
  const reply = replyOf('Text one.', { isSettled: true })
  const [message] = reply.messages
  const place = { messageID: 'msg_2', status: 'sealed', raw: undefined } as const
  const pictures = ['1.png', '2.png', '3.png'].map((filename): Part => {
    const url = `data:image/png;base64,${pixel}`
    return { ...place, type: 'file', id: `prt_${filename}`, mime: 'image/png', url, filename }
  })
  const below: Part = { ...place, type: 'text', id: 'prt_2', text: 'Text two.' }
  const notes: Part = {
    ...place,
    type: 'file',
    id: 'prt_n',
    mime: 'text/plain',
    url: 'data:,notes',
    filename: 'notes.txt',
  }
  return message
    ? { ...reply, messages: [{ ...message, parts: [...message.parts, ...pictures, below, notes] }] }
    : reply
}
