import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const modelsFile = 'models.json'

/**
 * Fills a new home with the settings, if the server reads them there, and with files that save the server its slow
 * first seconds:
 * - Without an installed plugin SDK of its own version, it installs one into the config folder (50 MB, with npm). 1.14
 *   and later compare with the lock file, earlier ones with `package.json`.
 * - At the first prompt, it downloads the catalogue of all models, and the scripted model does not need that.
 * Undefined writes no settings, or no password.
 */
export const prepareHome = async (
  home: string,
  version: string,
  settings?: string,
  password?: string,
): Promise<void> => {
  const dependencies = { '@opencode-ai/plugin': version }
  const config = '.config/opencode'
  await mkdir(join(home, config, 'node_modules'), { recursive: true })
  const files = {
    [`${config}/package.json`]: { dependencies },
    [`${config}/package-lock.json`]: { packages: { '': { dependencies } } },
    [modelsFile]: {},
  }
  for (const [name, content] of Object.entries(files)) await writeFile(join(home, name), JSON.stringify(content))
  // A managed service reads no password from its environment, and makes one up if it finds none here.
  if (password !== undefined) await writeFile(join(home, config, 'service.json'), JSON.stringify({ password }))
  if (settings !== undefined) await writeFile(join(home, config, 'opencode.json'), settings)
}

/**
 * Returns the variables that a server needs for a home that was prepared. They also keep older servers from downloading
 * their default plugins.
 */
export const homeEnvironment = (home: string): Readonly<Record<string, string>> => ({
  HOME: home,
  USERPROFILE: home,
  XDG_CONFIG_HOME: join(home, '.config'),
  XDG_DATA_HOME: join(home, '.local', 'share'),
  XDG_STATE_HOME: join(home, '.local', 'state'),
  XDG_CACHE_HOME: join(home, '.cache'),
  OPENCODE_MODELS_PATH: join(home, modelsFile),
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
})
