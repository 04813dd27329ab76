import { config } from 'zod/v4'

// The page may not run code from strings, and zod would try to when the first schema is made. So import this before all else.
config({ jitless: true })
