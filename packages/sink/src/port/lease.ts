import type { AppendStream, ChannelPort, NativeStream } from './port.ts'

/** Resolves when calls may be made, with a signal that aborts when they no longer may. See `LedgerStore.lease`. */
export type Lease = () => Promise<AbortSignal>

/**
 * Makes a call once that is allowed, and resolves or rejects as it does. The call's signal aborts when it is no longer
 * allowed, and when `signal` does, with the same reason. Rejects without a call if `lease` rejects.
 */
export async function withLease<T>(
  lease: Lease,
  signal: AbortSignal | undefined,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const permitted = await lease()
  // Not with `AbortSignal.any`: in Node 20, a signal keeps an entry for each one that was made of it.
  const either = new AbortController()
  const sources = (signal ? [permitted, signal] : [permitted]).map((source) => ({
    source,
    abort: () => either.abort(source.reason),
  }))
  for (const { source, abort } of sources) {
    if (source.aborted) abort()
    source.addEventListener('abort', abort)
  }
  try {
    return await call(either.signal)
  } finally {
    for (const { source, abort } of sources) source.removeEventListener('abort', abort)
  }
}

/**
 * Returns the same port, but each call waits until the lease allows this process to show replies in its chats. Methods that
 * the port lacks stay absent.
 */
export function leasedPort(port: ChannelPort, lease: Lease): ChannelPort {
  const leased = async <Options extends { readonly signal: AbortSignal }, T>(
    options: Options,
    call: (options: Options) => Promise<T>,
  ): Promise<T> => await withLease(lease, options.signal, (signal) => call({ ...options, signal }))
  const { edit, remove, typing, upload, uploadAlbum, lookUp, react, reports } = port
  return {
    get limits() {
      return port.limits
    },
    post: (bubble, options) => leased(options, (one) => port.post(bubble, one)),
    ...(edit && { edit: (ref, bubble, options) => leased(options, (one) => edit(ref, bubble, one)) }),
    ...(remove && { remove: (ref, options) => leased(options, (one) => remove(ref, one)) }),
    ...(typing && { typing: (on, options) => leased(options, (one) => typing(on, one)) }),
    ...(upload && { upload: (file, options) => leased(options, (one) => upload(file, one)) }),
    ...(uploadAlbum && { uploadAlbum: (files, options) => leased(options, (one) => uploadAlbum(files, one)) }),
    ...(lookUp && { lookUp: (options) => leased(options, lookUp) }),
    ...(react && { react: (ref, sign, options) => leased(options, (one) => react(ref, sign, one)) }),
    // Listening needs no permission.
    ...(reports && { reports }),
    /** A getter, as a port may lose its stream. */
    get stream(): NativeStream | undefined {
      const { stream } = port
      if (stream?.kind !== 'preview') return stream && leasedStream(stream)
      return { ...stream, write: (bubble, options) => leased(options, (one) => stream.write(bubble, one)) }
    },
  }

  /** Returns the same stream, but each call waits until it is allowed. */
  function leasedStream(stream: AppendStream): AppendStream {
    return {
      ...stream,
      measure: (text) => stream.measure(text),
      open: (piece, options) => leased(options, (one) => stream.open(piece, one)),
      append: (ref, piece, options) => leased(options, (one) => stream.append(ref, piece, one)),
      close: (ref, piece, options) => leased(options, (one) => stream.close(ref, piece, one)),
    }
  }
}
