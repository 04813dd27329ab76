import type { AppendStream, ChannelPort, NativeStream } from './port.ts'

/** Resolves when calls may be made, with a signal that aborts when they may not any more: see `LedgerStore.hold`. */
export type Hold = () => Promise<AbortSignal>

/** Makes a call once that is allowed. Its signal aborts when it is not allowed any more, and when `signal` does. */
export async function whileHeld<T>(
  hold: Hold,
  signal: AbortSignal | undefined,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const held = await hold()
  // Not with `AbortSignal.any`: in Node 20, a signal keeps an entry for each one that was made of it.
  const either = new AbortController()
  const abort = (): void => either.abort()
  const sources = signal ? [held, signal] : [held]
  for (const source of sources) {
    if (source.aborted) abort()
    source.addEventListener('abort', abort)
  }
  try {
    return await call(either.signal)
  } finally {
    for (const source of sources) source.removeEventListener('abort', abort)
  }
}

/** The same port, whose calls wait until they are allowed. */
export function heldPort(port: ChannelPort, hold: Hold): ChannelPort {
  const held = async <Options extends { readonly signal: AbortSignal }, T>(
    options: Options,
    call: (options: Options) => Promise<T>,
  ): Promise<T> => await whileHeld(hold, options.signal, (signal) => call({ ...options, signal }))
  const { edit, remove, typing, upload, lookUp, react, reports } = port
  return {
    get limits() {
      return port.limits
    },
    post: (bubble, options) => held(options, (one) => port.post(bubble, one)),
    ...(edit && { edit: (ref, bubble, options) => held(options, (one) => edit(ref, bubble, one)) }),
    ...(remove && { remove: (ref, options) => held(options, (one) => remove(ref, one)) }),
    ...(typing && { typing: (on, options) => held(options, (one) => typing(on, one)) }),
    ...(upload && { upload: (file, options) => held(options, (one) => upload(file, one)) }),
    ...(lookUp && { lookUp: (options) => held(options, lookUp) }),
    ...(react && { react: (ref, sign, options) => held(options, (one) => react(ref, sign, one)) }),
    // Listening needs no permission.
    ...(reports && { reports }),
    /** A getter, as a port may lose its stream. */
    get stream(): NativeStream | undefined {
      const { stream } = port
      if (stream?.kind !== 'preview') return stream && appending(stream)
      return { ...stream, write: (bubble, options) => held(options, (one) => stream.write(bubble, one)) }
    },
  }

  function appending(stream: AppendStream): AppendStream {
    return {
      ...stream,
      measure: (text) => stream.measure(text),
      open: (piece, options) => held(options, (one) => stream.open(piece, one)),
      append: (ref, piece, options) => held(options, (one) => stream.append(ref, piece, one)),
      close: (ref, piece, options) => held(options, (one) => stream.close(ref, piece, one)),
    }
  }
}
