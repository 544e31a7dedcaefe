/**
 * Writes down, within the database, who writes what for a session: the address from which a row came, the place of the session at that moment, and
 * the time by the one monotonic clock that all machines of the rig share. The installation knows nothing of it.
 */
export const audit = `
  create table audit (
    id bigserial primary key, uptime float8 not null, address text not null, kind text not null, session_id text not null,
    seq bigint, type text, actor text, node_id text, node_epoch integer, epoch integer, state text
  );
  create function audit_uptime() returns float8 language sql
    as $$ select split_part(pg_read_file('/proc/uptime'), ' ', 1)::float8 $$;
  create function audit_event() returns trigger language plpgsql as $$
    begin
      insert into audit (uptime, address, kind, session_id, seq, type, actor, node_id, node_epoch, epoch, state)
        select audit_uptime(), host(inet_client_addr()), 'event', new.session_id, new.seq, new.type,
          cast(new.envelope as json) -> 'actor' ->> 'kind', p.node_id, p.node_epoch, p.epoch, p.state
        from (select 1) as one left join placements p on p.session_id = new.session_id;
      return null;
    end $$;
  create function audit_snapshot() returns trigger language plpgsql as $$
    begin
      insert into audit (uptime, address, kind, session_id, type, node_id, node_epoch, epoch, state)
        select audit_uptime(), host(inet_client_addr()), 'snapshot', new.session_id, new.epoch, p.node_id, p.node_epoch,
          p.epoch, p.state
        from (select 1) as one left join placements p on p.session_id = new.session_id;
      return null;
    end $$;
  create function audit_place() returns trigger language plpgsql as $$
    begin
      insert into audit (uptime, address, kind, session_id, node_id, node_epoch, epoch, state)
        values (audit_uptime(), host(inet_client_addr()), 'place', new.session_id, new.node_id, new.node_epoch, new.epoch,
          new.state);
      return null;
    end $$;
  create trigger audit_event after insert on events for each row execute function audit_event();
  create trigger audit_snapshot after insert on snapshots for each row execute function audit_snapshot();
  create trigger audit_place after insert or update on placements for each row execute function audit_place();
`
