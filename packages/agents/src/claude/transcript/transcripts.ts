import { createReadStream, existsSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { LocalHistory, SessionInfo } from '@reply/core/source'
import type { Checklist } from '../checklist.ts'
import { decodeSubAgentFile, decodeTranscriptLine, type TranscriptLine } from '../decode/transcript-line.ts'
import { createPastWriter, type PastSubAgent } from './past-writer.ts'

/**
 * The transcripts that Claude Code writes of its sessions: a file of JSON lines for each session, in a folder for each
 * project, and beside it a file for each sub-agent. Learned from the files of 2.1.197 and 2.1.332.
 */
export interface Transcripts {
  /** Whether Claude Code has written transcripts on this computer. */
  readonly exist: () => boolean
  /** Finds a session by its transcript. Undefined if it has none, or none with a prompt. */
  find(sessionID: string): Promise<SessionInfo | undefined>
  /**
   * Lists the sessions that changed most recently, newest first, at most 100: those of the directory, or of all, that changed
   * at `since` or later. Leaves out those without a prompt, and those that can't be read.
   */
  list(query: {
    readonly directory?: string | undefined
    readonly since?: number | undefined
  }): Promise<readonly SessionInfo[]>
  /**
   * Adds the runs of a session to the history, and its tasks to the checklist, in the order of the file. Ends the last run.
   * Adds nothing without a transcript, and skips lines that can't be read. Stops after the line with the id `lastID`, if one
   * has it.
   */
  read(sessionID: string, history: LocalHistory, checklist: Checklist, lastID?: string): Promise<void>
  /**
   * Returns where the session ends or, with a prompt's id, where it ended before that prompt. Undefined without a transcript,
   * and if it has no such prompt.
   */
  endOf(sessionID: string, promptID?: string): Promise<TranscriptEnd | undefined>
}

/** Where a session ends, or where it ended before a prompt. */
export interface TranscriptEnd {
  /** The id of the last line. */
  readonly lastID: string | undefined
  /** The id of the last line that is from the model. Undefined if it had not answered yet. */
  readonly answerID: string | undefined
}

/** How many sessions are listed. Each costs the reading of a few lines. */
const mostListed = 100

/**
 * Returns the access to the transcripts below `CLAUDE_CONFIG_DIR`, by default `.claude` in the home. `env` is the environment
 * of Claude Code. Reads nothing yet.
 */
export function createTranscripts(env: Readonly<Record<string, string | undefined>>): Transcripts {
  const config = env.CLAUDE_CONFIG_DIR ?? join(env.HOME ?? homedir(), '.claude')
  const projects = join(config, 'projects')
  return { exist: () => existsSync(projects), find, list, read, endOf }

  /** Looks for the session's transcript and reads its first prompt. */
  async function find(sessionID: string): Promise<SessionInfo | undefined> {
    const path = await pathOf(sessionID)
    return path === undefined ? undefined : await infoOf(path, sessionID)
  }

  /** Returns the path of the session's transcript. Undefined if no project has one. */
  async function pathOf(sessionID: string): Promise<string | undefined> {
    const paths = (await namesIn(projects)).map((folder) => join(projects, folder, `${sessionID}.jsonl`))
    return paths.find((path) => existsSync(path))
  }

  /** Sorts the files by the time of their change, and reads the first prompts of the newest. */
  async function list({ directory, since = 0 }: Parameters<Transcripts['list']>[0]): Promise<readonly SessionInfo[]> {
    const folders = await namesIn(projects)
    const wanted = directory === undefined ? folders : folders.filter((folder) => folder === folderOf(directory))
    const files = (await Promise.all(wanted.map(async (folder) => await transcriptsIn(join(projects, folder))))).flat()
    const newest = files.filter(({ updatedAt }) => updatedAt >= since).toSorted((a, b) => b.updatedAt - a.updatedAt)
    const infos = await Promise.all(
      // One that was removed meanwhile, or can't be read, leaves the others.
      newest.slice(0, mostListed).map(({ path, sessionID }) => infoOf(path, sessionID).catch(() => undefined)),
    )
    return infos.filter((info) => info !== undefined)
  }

  /** Reads the transcripts of the sub-agents, then the session's own line by line. */
  async function read(sessionID: string, history: LocalHistory, checklist: Checklist, lastID?: string): Promise<void> {
    const path = await pathOf(sessionID)
    if (path === undefined) return
    const subAgents = await readSubAgents(path.replace(/\.jsonl$/, ''))
    const writer = createPastWriter(history, checklist, subAgents)
    for await (const line of linesOf(path)) {
      writer.write(line)
      if (line.id !== undefined && line.id === lastID) break
    }
    writer.end()
  }

  /** Reads the session's transcript up to the prompt, or to its end. */
  async function endOf(sessionID: string, promptID?: string): Promise<TranscriptEnd | undefined> {
    const path = await pathOf(sessionID)
    if (path === undefined) return undefined
    let lastID: string | undefined
    let answerID: string | undefined
    for await (const { id, prompt, message } of linesOf(path)) {
      if (prompt && prompt.id === promptID) return { lastID, answerID }
      lastID = id ?? lastID
      if (message) answerID = id ?? answerID
    }
    return promptID === undefined ? { lastID, answerID } : undefined
  }
}

/** Returns Claude Code's name for the folder of a directory's transcripts. */
function folderOf(directory: string): string {
  return directory.replace(/[^a-zA-Z0-9]/g, '-')
}

/** Lists the names of files and folders in a folder. Empty if it can't be read. */
async function namesIn(path: string): Promise<readonly string[]> {
  return await readdir(path).catch(() => [])
}

/**
 * Lists the transcripts in a project's folder, with the times of their last change in ms since the epoch. The time is 0 for
 * a file that is gone.
 */
async function transcriptsIn(folder: string) {
  const names = (await namesIn(folder)).filter((name) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.jsonl$/.test(name))
  return await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name)
      const updatedAt = await stat(path).then(
        ({ mtimeMs }) => Math.round(mtimeMs),
        () => 0,
      )
      return { path, sessionID: name.slice(0, -'.jsonl'.length), updatedAt }
    }),
  )
}

/**
 * Reads a transcript up to its first prompt, whose first line gives the title, at most 100 characters. Undefined if it has
 * no prompt.
 */
async function infoOf(path: string, sessionID: string): Promise<SessionInfo | undefined> {
  for await (const { prompt, cwd, at } of linesOf(path)) {
    if (!prompt) continue
    const title = prompt.parts.flatMap((part) => (part.type === 'text' ? [part.text.split('\n')[0] ?? ''] : []))[0]
    const updatedAt = await stat(path).then(
      ({ mtimeMs }) => Math.round(mtimeMs),
      () => at,
    )
    return { sessionID, directory: cwd, title: title?.slice(0, 100), createdAt: at, updatedAt }
  }
  return undefined
}

/** Yields the lines of a transcript that change a reply, in order. Skips those that can't be read. */
async function* linesOf(path: string): AsyncIterable<TranscriptLine> {
  const input = createReadStream(path, 'utf8')
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    // Most of a file are copies of requests, which are large.
    if (!/"type":"(?:user|assistant|system)"/.test(line)) continue
    const found = decodeTranscriptLine(line)
    if (found) yield found
  }
}

/**
 * Reads the transcripts of a session's sub-agents, by the call that started each. Leaves out one without a file that names
 * its call. One without a transcript has no lines.
 */
async function readSubAgents(folder: string): Promise<ReadonlyMap<string, PastSubAgent>> {
  const subagents = join(folder, 'subagents')
  const found = await Promise.all(
    (await namesIn(subagents)).map(async (name) => {
      if (!name.endsWith('.meta.json')) return undefined
      const text = await readFile(join(subagents, name), 'utf8').catch(() => '')
      const { toolUseId, description } = decodeSubAgentFile(text) ?? {}
      if (toolUseId === undefined) return undefined
      const lines: TranscriptLine[] = []
      const path = join(subagents, name.replace(/\.meta\.json$/, '.jsonl'))
      if (existsSync(path)) for await (const line of linesOf(path)) lines.push(line)
      const sessionID = name.slice(0, -'.meta.json'.length)
      return [toolUseId, { sessionID, title: description ?? '', lines }] as const
    }),
  )
  return new Map(found.filter((each) => each !== undefined))
}
