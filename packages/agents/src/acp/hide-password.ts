/**
 * A plugin that OpenCode loads by path. It empties the user and password of OpenCode's server in the environment of
 * shells. It must not delete them from OpenCode's own environment: version 1.18.33 reads them after it loads plugins,
 * and without them its server accepts every request.
 */
export async function hidePassword(): Promise<object> {
  return {
    'shell.env': async (_: unknown, { env }: { readonly env: Record<string, string> }): Promise<void> => {
      env.OPENCODE_SERVER_PASSWORD = ''
      env.OPENCODE_SERVER_USERNAME = ''
    },
  }
}
