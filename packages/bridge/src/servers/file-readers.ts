import type { Clock } from '@reply/core'
import { fileFacts } from '@reply/core/show'
import type { ReadFile } from '@reply/sink'
import { FileRefusal } from '@reply/sink/channel'
import { createFileReader } from '@reply/sink/node'
import { type BridgeConfig, isLoopback } from '../config/schema.ts'
import { toError } from '../error.ts'
import { plain, texts } from '../texts.ts'
import type { RequireSafe } from './safety.ts'

/** Returns what reads the files of the replies of a server, by its name in the config. */
export type FileReaders = (server: string) => ReadFile

/**
 * Creates the readers of files for sinks: inside of the session's folder if the server's folders are on this computer, and from the
 * hosts of the config. A folder that contains the bridge's own files is not read.
 *
 * OpenCode's `/file/content` is not used for servers on other computers: it follows links out of the project, trims texts, and has
 * no bytes of most binary files. `read` in https://github.com/sst/opencode/blob/dev/packages/opencode/src/file/index.ts
 */
export function createFileReaders({
  config,
  requireSafe,
  clock,
  onError,
}: {
  readonly config: Pick<BridgeConfig, 'servers' | 'router'>
  readonly requireSafe: RequireSafe
  readonly clock: Clock
  readonly onError: (error: Error) => void
}): FileReaders {
  const { fileHosts } = config.router
  const allowsDownload = ({ host }: URL): boolean => fileHosts.includes(host)
  return (name) => {
    const server = config.servers[name]
    const isLocal = server?.localFiles ?? (server?.url === undefined || isLoopback(new URL(server.url).hostname))
    const read = createFileReader({ isLocal: server !== undefined && isLocal, allowsDownload, clock })
    return async (file, request) => {
      // A source that knows no directory of a session works in that of its server.
      const { directory = server?.directory } = request
      await requireSafe(name, directory).catch((error: unknown) => {
        // The reason names paths and addresses, which concern the operator alone.
        onError(toError(error))
        throw new FileRefusal('refused', texts.fileUnsafe(plain(fileFacts(file).name)), { cause: error })
      })
      return await read(file, { ...request, directory })
    }
  }
}
