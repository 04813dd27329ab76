import type { AppendStream, Attachment, Bubble, ChannelPort, Form, NativeStream, StreamPiece } from './port.ts'

/** Replaces halves of surrogate pairs by U+FFFD, which has the same length. Platforms refuse a text with a half. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd')
}

/** Removes the first half of a surrogate pair at the end of a text that is still growing. */
export function withoutHalf(text: string): string {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text
}

/**
 * Returns the same port, which gets only well-formed text, because platforms refuse other text: in messages, labels, forms,
 * files and streams. Methods that the port lacks stay absent.
 */
export function wellFormedPort(port: ChannelPort): ChannelPort {
  return {
    get limits() {
      return port.limits
    },
    post: (bubble, options) => port.post(wellFormedBubble(bubble), options),
    ...(port.edit && {
      edit: async (ref, bubble, options) => await port.edit?.(ref, wellFormedBubble(bubble), options),
    }),
    ...(port.remove && { remove: async (ref, options) => await port.remove?.(ref, options) }),
    ...(port.typing && {
      typing: async (on, { doing, ...options }) =>
        await port.typing?.(on, { ...options, ...(doing !== undefined && { doing: wellFormed(doing) }) }),
    }),
    ...wellFormedUploads(port),
    ...(port.lookUp && {
      lookUp: async (options) => (await port.lookUp?.(options)) ?? { type: 'unknown' },
    }),
    ...(port.react && { react: async (ref, sign, options) => await port.react?.(ref, sign, options) }),
    ...(port.reports && { reports: port.reports }),
    /** A getter, as a port may lose its stream. */
    get stream(): NativeStream | undefined {
      const { stream } = port
      return stream && wellFormedStream(stream)
    },
  }
}

/** Returns the port's methods for files, which get well-formed names and captions. Empty if the port has none. */
function wellFormedUploads({ upload, uploadAlbum }: ChannelPort): Pick<ChannelPort, 'upload' | 'uploadAlbum'> {
  return {
    ...(upload && { upload: (file, options) => upload(wellFormedFile(file), options) }),
    ...(uploadAlbum && { uploadAlbum: (files, options) => uploadAlbum(files.map(wellFormedFile), options) }),
  }
}

/** Returns the same stream or preview, which gets only well-formed text. */
function wellFormedStream(stream: NativeStream): NativeStream {
  if (stream.kind === 'preview')
    return { ...stream, write: (bubble, options) => stream.write(wellFormedBubble(bubble), options) }
  return wellFormedAppendStream(stream)
}

/** Returns the same stream, which gets only well-formed text. */
function wellFormedAppendStream(stream: AppendStream): AppendStream {
  return {
    ...stream,
    measure: (text) => stream.measure(text),
    open: (piece, options) => stream.open(wellFormedPiece(piece), options),
    append: (ref, piece, options) => stream.append(ref, wellFormedPiece(piece), options),
    close: (ref, piece, options) => stream.close(ref, wellFormedPiece(piece), options),
  }
}

/** Returns the bubble with well-formed text, labels and names. Tokens are unchanged, and `plain` stays lazy. */
function wellFormedBubble(bubble: Bubble): Bubble {
  const { form, mentions } = bubble
  return {
    length: bubble.length,
    isPlain: bubble.isPlain,
    text: wellFormed(bubble.text),
    source: wellFormed(bubble.source),
    // Computing it may be slow, and few ports need it.
    get plain() {
      return wellFormed(bubble.plain)
    },
    buttons: bubble.buttons.map((row) => row.map(({ label, data }) => ({ label: wellFormed(label), data }))),
    ...(mentions && { mentions: mentions.map((actor) => ({ ...actor, name: wellFormed(actor.name) })) }),
    ...(form && { form: wellFormedForm(form) }),
  }
}

/** Returns the form with well-formed text. Its token is unchanged. */
function wellFormedForm({ token, label, questions }: Form): Form {
  return {
    token,
    label: wellFormed(label),
    questions: questions.map((one) => ({
      ...one,
      header: wellFormed(one.header),
      question: wellFormed(one.question),
      options: one.options.map((option) => ({
        label: wellFormed(option.label),
        description: wellFormed(option.description),
      })),
    })),
  }
}

/** Returns the file with a well-formed name and caption. */
function wellFormedFile({ name, caption, ...file }: Attachment): Attachment {
  return { ...file, name: wellFormed(name), caption: wellFormed(caption) }
}

/** Returns the piece with well-formed text, titles and reasons. */
function wellFormedPiece({ text, tasks, plan }: StreamPiece): StreamPiece {
  return {
    text: wellFormed(text),
    tasks: tasks.map((task) => {
      const { title, reason } = task
      return { ...task, title: wellFormed(title), ...(reason !== undefined && { reason: wellFormed(reason) }) }
    }),
    ...(plan !== undefined && { plan: wellFormed(plan) }),
  }
}
