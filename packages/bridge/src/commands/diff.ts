import { type Client, escapeDeceptive, type FileChange } from '@reply/core'
import { changesLine, countChanges, diffText } from '@reply/core/show'
import { codeBlockOf, literal, oneLine } from '@reply/sink/internal'
import type { SessionRef } from '../state/decode.ts'
import { texts } from '../texts.ts'
import type { Command, CommandReply } from './command.ts'

/** How many files a list names. */
const mostListed = 20

/** How much of a path a list shows, in UTF-16 units. */
const pathLength = 200

/** How long the files in the caption of a document are, in UTF-16 units: all platforms take that much. */
const captionLength = 300

/** A diff of more UTF-16 units is a document. Fits a message on each platform. */
const mostInMessage = 1500

/** Posts what the session of the chat changed, or what it changed in one file. */
export const diffCommand: Command = {
  name: 'diff',
  usage: '[file]',
  description: 'the files that the session changed',
  run: async ({ rest, target }) => {
    const { route, client } = await target()
    const { server, sessionID } = route
    return sessionID === undefined ? { text: texts.noSession } : await diffReply(client, { server, sessionID }, rest)
  },
}

/** What the diff of a session is read from. */
export type DiffClient = Pick<Client, 'diff' | 'readsSessions' | 'reply'>

/**
 * Returns the reply with the diff of a session as a document, and the names of the files. With the path of a changed file, or
 * the end of one that is unique, the diff of that file: as a code block if it is short.
 */
export async function diffReply(client: DiffClient, session: SessionRef, given = ''): Promise<CommandReply> {
  const { sessionID } = session
  const changes = await client.diff(sessionID)
  if (await client.readsSessions())
    return changes.length === 0 ? { text: texts.noChanges, session } : replyWith(changes, session, given)
  if (changes.length > 0) return ofLastRun(replyWith(changes, session, given))
  const hasRun = (await client.reply(sessionID)) !== undefined
  return { text: hasRun ? texts.lastRunUnchanged : texts.changesUnknown, session }
}

/** Adds to a reply that it has the changes of the last run alone. */
function ofLastRun({ text, withoutFile, ...reply }: CommandReply): CommandReply {
  const noted = (said: string): string => `${said}\n\n${texts.lastRunOnly}`
  return {
    ...reply,
    text: noted(text),
    ...(withoutFile && {
      withoutFile: (why) => {
        const other = withoutFile(why)
        return { ...other, text: noted(other.text) }
      },
    }),
  }
}

/** Returns the reply with changes, at least one. */
function replyWith(changes: readonly FileChange[], session: SessionRef, given: string): CommandReply {
  if (given === '') return documentOf(changes, `session-${session.sessionID}.diff`, session)
  const found = changesAt(changes, given)
  const [change] = found
  const shownName = literal(oneLine(given, pathLength))
  if (!change) return { text: texts.noChangeOf(shownName, listOf(changes)), session }
  if (found.length > 1) return { text: texts.whichFile(shownName, listOf(found)), session }
  return { ...fileReply(change, session), session }
}

/** Returns the change of the file at that path, or else those of all files whose path ends with it. */
function changesAt(changes: readonly FileChange[], given: string): readonly FileChange[] {
  const path = given.replace(/^\.\//, '')
  const exact = changes.filter(
    (change) => change.path === path || oneLine(change.path, Number.MAX_SAFE_INTEGER) === path,
  )
  return exact.length > 0 ? exact : changes.filter((change) => change.path.endsWith(`/${path}`))
}

/** Returns the reply with the diff of one file. */
function fileReply(change: FileChange, session: SessionRef): CommandReply {
  const { path, patches, additions, isBinary } = change
  const shownPath = `**${literal(oneLine(path, pathLength))}**`
  if (isBinary && patches.length === 0) return { text: texts.fileBinary(shownPath) }
  if (patches.length === 0 && additions === undefined) return { text: texts.fileUnknown(shownPath) }
  const diff = diffText([change])
  if (diff.length > mostInMessage) return documentOf([change], `${path.split(/[\\/]/).at(-1) ?? ''}.diff`, session)
  const shown = escapeDeceptive(diff, { isDiff: true })
  return { text: `${shownPath} · ${literal(countsOf([change]))}\n\n${codeBlockOf('', shown, 'diff')}` }
}

/** Returns the reply with the changes as a document, whose caption is in one line. A chat that does not take it gets the names. */
function documentOf(changes: readonly FileChange[], name: string, session: SessionRef): CommandReply {
  const counts = countsOf(changes)
  const names = changes.slice(0, mostListed).map(({ path }) => oneLine(path, pathLength))
  const caption = oneLine(`${counts}: ${names.join(', ')}${changes.length > mostListed ? ', …' : ''}`, captionLength)
  return {
    text: caption,
    file: { name, bytes: new TextEncoder().encode(diffText(changes)) },
    session,
    withoutFile: (why) => ({ text: texts.diffNotPosted(why, counts, listOf(changes)) }),
  }
}

/** Returns the number of files and lines as people read them. */
function countsOf(changes: readonly FileChange[]): string {
  return changesLine(countChanges(changes))
}

/** Returns a list of the files with their lines as Markdown, at most `mostListed`. */
function listOf(changes: readonly FileChange[]): string {
  const lines = changes.slice(0, mostListed).map(({ path, additions, deletions }) => {
    const lineCounts = additions === undefined ? '' : ` +${additions} −${deletions ?? 0}`
    return `- ${literal(`${oneLine(path, pathLength)}${lineCounts}`)}`
  })
  const more = changes.length - lines.length
  return [...lines, ...(more > 0 ? [`- ${texts.moreFiles(more)}`] : [])].join('\n')
}
