/**
 * A plugin that OpenCode loads by its path: shells get the password and user of OpenCode's server empty. The plugin must
 * not delete them from OpenCode's own environment: version 1.18.33 reads them after it loads plugins, and its server then
 * takes every request.
 */
export async function hidePassword(): Promise<object> {
  return {
    'shell.env': async (_: unknown, { env }: { readonly env: Record<string, string> }): Promise<void> => {
      env.OPENCODE_SERVER_PASSWORD = ''
      env.OPENCODE_SERVER_USERNAME = ''
    },
  }
}
