import { mkdir, readFile, realpath, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type ClientApp, RequestError } from '@agentclientprotocol/sdk'
import { readFileRequest, writeFileRequest } from './decode/schema.ts'
import { placeInside } from './folder.ts'

/** What an agent may do with files. */
export interface FileRights {
  readonly files: 'none' | 'read' | 'write'
  /** The folder of a session. Undefined if there is no such session: then nothing is allowed. */
  folderOf(sessionID: string): string | undefined
}

/** The largest file that is read for an agent, in bytes. */
const maxBytes = 16 * 1024 * 1024

/** Offers the agent the file methods that it has a right to. */
export function addFiles(app: ClientApp, rights: FileRights): void {
  if (rights.files === 'none') return
  app.onRequest('fs/read_text_file', readFileRequest, async ({ params }) => ({
    content: excerptOf(await readText(await allowed(rights, params)), params),
  }))
  if (rights.files !== 'write') return
  app.onRequest('fs/write_text_file', writeFileRequest, async ({ params }) => {
    const path = await allowed(rights, params)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, params.content)
    return {}
  })
}

/** The file without links. Rejects with an error for the agent if it is outside of the session's folder. */
async function allowed(
  rights: FileRights,
  { sessionId, path }: { readonly sessionId: string; readonly path: string },
): Promise<string> {
  const folder = rights.folderOf(sessionId)
  if (folder === undefined) throw RequestError.sessionNotFound(sessionId)
  const file = await placeInside(folder, path)
  if (file === (await realpath(folder))) throw RequestError.invalidParams({ path }, 'The path is a folder')
  return file
}

async function readText(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined)
  if (!found?.isFile()) throw RequestError.resourceNotFound(path)
  if (found.size > maxBytes)
    throw RequestError.invalidParams({ path }, `The file has ${found.size} bytes; ${maxBytes} may be read`)
  return await readFile(path, 'utf8')
}

/** `line` counts from 1. */
function excerptOf(
  text: string,
  { line, limit }: { readonly line?: number | null | undefined; readonly limit?: number | null | undefined },
): string {
  if (!line && (limit === undefined || limit === null)) return text
  const from = Math.max(0, (line ?? 1) - 1)
  return text
    .split('\n')
    .slice(from, limit === undefined || limit === null ? undefined : from + limit)
    .join('\n')
}
