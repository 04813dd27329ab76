import { type BinaryOptions, defaultVersion, opencodeBinary } from '../binary.ts'
import { configFor, type OpencodeConfig } from '../config.ts'
import { startGuard } from '../guard.ts'
import { homeEnvironment, prepareHome } from '../home.ts'
import type { ScriptedModel } from '../model/start.ts'
import { createProjectIn, createRoot } from '../project.ts'

/** Which OpenCode to prepare, and its project. */
export interface PrepareOptions extends BinaryOptions {
  /** The model, or its base URL. */
  readonly model: Pick<ScriptedModel, 'url'> | string
  /** Settings to add to the project's `opencode.json`. */
  readonly config?: OpencodeConfig | undefined
  /** Files of the throw-away project, committed at once. */
  readonly files?: Readonly<Record<string, string>> | undefined
}

/** An OpenCode that a test starts itself, such as `opencode acp`. */
export interface PreparedOpencode {
  /** The path of its binary. */
  readonly command: string
  /** Variables for the program's environment: the throw-away home, and nothing from your own. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The throw-away project. */
  readonly directory: string
  /** The throw-away folder that holds home and project. */
  readonly root: string
  /** Removes everything that was created. Stop the programs that you started there first. */
  remove(): Promise<void>
}

/**
 * Prepares a throw-away home and project for an OpenCode of version 1, pointed at a scripted model. Starts nothing. The
 * end of your process removes both. Rejects with type `install` without a binary.
 */
export const prepareOpencode = async (options: PrepareOptions): Promise<PreparedOpencode> => {
  const version = options.version ?? defaultVersion
  const command = await opencodeBinary({ ...options, version })
  const modelUrl = typeof options.model === 'string' ? options.model : options.model.url
  const root = createRoot()
  const guard = startGuard(root)
  const project = await createProjectIn(root, {
    ...options.files,
    'opencode.json': configFor(version, modelUrl, options.config),
  })
  await prepareHome(project.home, version)
  const own = Object.keys(process.env).filter((name) => name.startsWith('OPENCODE_'))
  return {
    command,
    env: {
      ...Object.fromEntries(own.map((name) => [name, undefined])),
      ...homeEnvironment(project.home),
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    },
    directory: project.directory,
    root,
    remove: async () => {
      await project.remove()
      guard.dismiss()
    },
  }
}
