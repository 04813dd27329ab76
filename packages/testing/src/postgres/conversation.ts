/** The two ends of a connection, and the faults that are due. */
export interface ConversationEnds {
  toServer(bytes: Buffer): void
  toClient(bytes: Buffer): void
  /** Called with each query before the server gets any of it. Whether the connection was broken instead. */
  breakAtQuery(query: Buffer): boolean
  /** Called with each query that the server gets. Returns what breaks the connection once the server has answered. */
  takeLostAnswer(query: Buffer): (() => void) | undefined
}

/** Passes the messages of one connection on, query by query and answer by answer. */
export interface Conversation {
  /** Takes bytes from the client. */
  fromClient(chunk: Buffer): void
  /** Takes bytes from the server. */
  fromServer(chunk: Buffer): void
}

/** Codes that a client may send instead of a protocol version. */
const cancelRequest = 80_877_102
const encryptionRequests = [80_877_103, 80_877_104]

/** Parse, Bind, Describe, Execute and Close: the server runs them at the next Sync. */
const isPartOfQuery = /[PBDEC]/
/** Query, Sync and FunctionCall: the server answers each with ReadyForQuery when it is done. */
const isEndOfQuery = /[QSF]/
const readyForQuery = 'Z'

/**
 * Creates the conversation of one connection. Follows PostgreSQL's protocol 3:
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
export const createConversation = (ends: ConversationEnds): Conversation => {
  let isStarted = false
  /** The messages of a query that isn't complete, which the server doesn't have. */
  let held: readonly Buffer[] = []
  /** An entry for each answer that the server owes, in order, with a function if it is to be lost. */
  const owed: { readonly lose: (() => void) | undefined }[] = []

  /** Takes the message with which a client begins. It has no type. */
  const takeStart = (message: Buffer): void => {
    const code = message.readInt32BE(4)
    if (encryptionRequests.includes(code)) return ends.toClient(Buffer.from('N'))
    if (code !== cancelRequest) {
      isStarted = true
      owed.push({ lose: undefined })
    }
    ends.toServer(message)
  }

  const clientMessages = createFraming(
    () => isStarted,
    (message) => {
      if (!isStarted) return takeStart(message)
      const type = typeOf(message)
      if (isPartOfQuery.test(type)) {
        held = [...held, message]
        return
      }
      const bytes = Buffer.concat([...held, message])
      held = []
      if (isEndOfQuery.test(type)) {
        if (ends.breakAtQuery(bytes)) return
        owed.push({ lose: ends.takeLostAnswer(bytes) })
      }
      ends.toServer(bytes)
    },
  )
  const serverMessages = createFraming(
    () => true,
    (message) => {
      const lose = owed[0]?.lose
      if (lose === undefined) ends.toClient(message)
      if (typeOf(message) !== readyForQuery) return
      owed.shift()
      lose?.()
    },
  )
  return { fromClient: clientMessages, fromServer: serverMessages }
}

/** The letter that a message begins with. */
const typeOf = (message: Buffer): string => message.toString('latin1', 0, 1)

/** Returns a function that takes bytes, and calls `take` with each message that is complete. */
const createFraming = (hasType: () => boolean, take: (message: Buffer) => void): ((chunk: Buffer) => void) => {
  let chunks: Buffer[] = []
  let size = 0
  /** How many bytes the next message needs, as far as that is known. */
  let needed = 5
  return (chunk) => {
    chunks.push(chunk)
    size += chunk.length
    // A long message is put together once, when all of it is there.
    if (size < needed) return
    let rest = Buffer.concat(chunks)
    for (;;) {
      const lengthAt = hasType() ? 1 : 0
      // The length counts itself, but not the type.
      needed = rest.length < lengthAt + 4 ? lengthAt + 4 : lengthAt + rest.readInt32BE(lengthAt)
      if (rest.length < needed) break
      const message = rest.subarray(0, needed)
      rest = rest.subarray(needed)
      take(message)
    }
    chunks = [rest]
    size = rest.length
  }
}
