import { playPlans } from './plans.ts'

playPlans({ first: 151, count: 200 })
